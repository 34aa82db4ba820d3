"""Templates whose code yields pieces, and the environments that compile and render them.

Templates are loaded in groups of tags: an unchanged group is compiled only once.
"""

from __future__ import annotations

import copy
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any, Final, NoReturn

from jinja2 import Environment, Template, Undefined, nodes, runtime
from jinja2.environment import TemplateModule
from jinja2.lexer import newline_re
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from promptls.dialects.prompt_poet.environment import FolderLoader, Sandbox
from promptls.dialects.prompt_poet.template_rendering import (
    DEFAULT_OPTIONS,
    RenderedText,
    RenderOptions,
    render_loaded,
)
from promptls.dialects.prompt_poet.vocabulary import escape
from promptls.rendering.mark import MARK
from promptls.rendering.source_map import read_values
from promptls.rendering.source_map.code_generator import MappingCodeGenerator
from promptls.rendering.source_map.filters import MAPPING_FILTERS
from promptls.rendering.source_map.lexer import (
    NO_SKELETON,
    Filled,
    Grouping,
    PlacedLexer,
    TextSection,
    filled_in,
    skeleton_of,
)
from promptls.rendering.source_map.mapped_text import MappedMarkup, MappedText, method_leaves
from promptls.rendering.source_map.mapping import RenderedMap
from promptls.rendering.source_map.pieces import BoundNames, Deferred, SourceFile
from promptls.rendering.source_map.read_values import joined
from promptls.rendering.source_map.value_paths import Bindings

_KEPT_CHARACTERS: Final = 2_000_000
"""The maximum number of characters of cached compiled templates; the least recently used ones are dropped."""
_RUNTIME: Final = {name: getattr(runtime, name) for name in runtime.exported}


class CompiledGroups:
    """An in-memory cache of compiled groups, by file and text."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._filled: OrderedDict[tuple[str, str, bool], Filled] = OrderedDict()
        self._compiled: OrderedDict[tuple[Any, ...], Filled] = OrderedDict()
        self._characters = 0
        self._groupings: dict[PlacedLexer, Grouping] = {}

    def __len__(self) -> int:
        """Return the number of cached groups."""
        return len(self._compiled)

    def groups(self, lexer: PlacedLexer, text: str) -> list[TextSection]:
        """Return the groups of a text."""
        return self._groupings.setdefault(lexer, Grouping(lexer)).groups(text)

    def code(self, environment: Any, path: str, name: str, group: TextSection) -> Filled:
        """Return the compiled code of a group of the file at `path`, reused if the tags are the same."""
        key = path, group.text, group.is_last
        known = self._filled.get(key)
        if known is not None:
            self._filled.move_to_end(key)
            return known
        skeleton = skeleton_of(environment.group_lexer(is_last=group.is_last), group.text)
        if skeleton is None:  # Jinja reports the error
            code = environment.compile_group(group.text, name, path, group.line, is_last=group.is_last)
            return Filled(code, NO_SKELETON, NO_SKELETON)
        tags = path, skeleton.tokens, group.is_last
        known = self._compiled.pop(tags, None)
        if known is None:
            code = environment.compile_group(group.text, name, path, group.line, is_last=group.is_last)
            known = Filled(code, skeleton, skeleton)
        self._compiled[tags] = known
        found = self._filled[key] = known._replace(filled=skeleton)
        self._characters += len(group.text)
        while self._characters > _KEPT_CHARACTERS and len(self._filled) > 1:
            self._characters -= len(self._filled.popitem(last=False)[0][1])
        while len(self._compiled) > len(self._filled):
            self._compiled.popitem(last=False)
        return found


class MappedLoader(FolderLoader):
    """Loads templates in groups. For a mapping environment only."""

    def __init__(
        self, folder: str | Path, unsaved: Mapping[str, str], compiled: CompiledGroups | None = None
    ) -> None:
        """Load from `folder`, like FolderLoader, and use the cache `compiled`."""
        super().__init__(folder, unsaved)
        self._compiled = CompiledGroups() if compiled is None else compiled

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - the name is Jinja's
    ) -> Template:
        """Return the template `name`; raises the errors of reading and compiling it."""
        text, path, _ = self.get_source(environment, name)
        variables = {} if globals is None else globals
        groups = self._compiled.groups(environment.lexer, text)  # type: ignore[arg-type] # the mapping one's
        if len(groups) > 1:
            try:
                return self._assemble(environment, groups, name, path, variables)
            except Exception:  # noqa: BLE001, S110 - compiling the whole text reports the error and its location
                pass
        return self._assemble(environment, [TextSection(text, 0, 0, is_last=True)], name, path, variables)

    def _assemble(
        self,
        environment: Any,
        groups: Iterable[TextSection],
        name: str,
        path: str,
        variables: MutableMapping[str, Any],
    ) -> Template:
        templates: list[_MappedTemplate] = []
        bindings: list[Bindings] = []
        values: dict[str, list[Any]] = {}
        files: list[SourceFile] = []
        for group in groups:
            code = self._compiled.code(environment, path, name, group)
            namespace: dict[str, Any] = {"environment": environment, "__file__": path, **_RUNTIME}
            namespace["MARK"], namespace["BASE"] = MARK.cells, MARK.base(path) + group.line
            exec(code.code, namespace)  # noqa: S102 - it runs the template, as Jinja itself does
            template = _MappedTemplate._from_namespace(environment, namespace, variables)  # noqa: SLF001 - as Jinja
            assert isinstance(template, _MappedTemplate)
            template.line = group.line
            templates.append(template)
            file = SourceFile(path, group.start)
            filled_in(namespace, code, file)
            files.append(file)
            bindings.append(Bindings(*namespace["bindings"]))
        _refuse_closures(bindings)
        for each in bindings:
            for key, found in each.values.items():
                values.setdefault(key, []).extend(found)
        names = BoundNames(
            {
                key: found[0]
                for key, found in values.items()
                if len(found) == 1 and found[0] not in {None, key}
            },
            frozenset(values),
        )
        for file in files:
            file.names = names
        return _whole(templates)


class _NotSeparateError(Exception):
    """A macro reads a name that is set after it, which does not work across groups."""


def _refuse_closures(bindings: Iterable[Bindings]) -> None:
    captured: set[str] = set()
    for each in bindings:
        if not captured.isdisjoint(each.set_on_top):
            raise _NotSeparateError
        captured.update(each.captured)


class _MappedModule(TemplateModule):
    """An imported file, whose output is that of its import."""

    def __str__(self) -> str:
        return joined(self.__dict__["_body_stream"])


class _MappedTemplate(Template):
    """A template, or a group of one, whose code yields pieces."""

    line = 0
    """The 0-based line of the file where its text begins."""

    def get_corresponding_lineno(self, lineno: int) -> int:
        return super().get_corresponding_lineno(lineno) + self.line

    def make_module(
        self,
        vars: dict[str, Any] | None = None,  # noqa: A002 - Jinja's name
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,  # noqa: A002 - Jinja's name
    ) -> TemplateModule:
        return _MappedModule(self, self.new_context(vars, shared, locals))


def _whole(groups: list[_MappedTemplate]) -> Template:
    """Return the template that runs the groups one after the other."""
    first = groups[0]
    if len(groups) == 1:
        return first
    roots = [group.root_render_func for group in groups]

    def root(context: Context) -> Iterator[Any]:
        for each in roots:
            yield from each(context)

    template = object.__new__(_MappedTemplate)
    template.__dict__.update(first.__dict__)
    template.root_render_func = root
    return template


_CLASSES: Final = frozenset({dict, Namespace, Cycler, Joiner})


class _Mapping(Environment):
    """The functions that compiled templates call, and the compiler."""

    code_generator_class = MappingCodeGenerator
    concat = staticmethod(read_values.joined)  # type: ignore[assignment] # pieces, where Jinja expects texts
    shown = staticmethod(read_values.shown)
    passed_on = staticmethod(read_values.passed_on)
    joined_values = staticmethod(read_values.joined_values)
    made_by = staticmethod(read_values.made_by)
    percent_formatted = staticmethod(read_values.percent_formatted)
    read = staticmethod(read_values.read)
    read_items = staticmethod(read_values.read_items)
    read_text = staticmethod(read_values.read_text)
    read_texts = staticmethod(read_values.read_texts)
    unsure_text = staticmethod(read_values.unsure_text)

    mark_base = 0
    """The mark of the first line of the text being compiled; see `Mark`."""
    _is_last = True

    @property
    def lexer(self) -> PlacedLexer:
        return _lexer(keeps_newline=not self._is_last)

    def group_lexer(self, *, is_last: bool) -> PlacedLexer:
        """Return the lexer for a group."""
        return _lexer(keeps_newline=not is_last)

    def compile_group(self, text: str, name: str, path: str, line: int, *, is_last: bool) -> CodeType:
        """Compile a group of a template that begins on the 0-based `line`.

        In the last group, Jinja drops a trailing line break.
        """
        self._is_last = is_last
        self.mark_base = MARK.base(path) + line
        try:
            return self.compile(text, name, path)
        finally:
            self._is_last = True

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        vars(tree)["text"] = "\n".join(newline_re.split(source)[::2])
        return tree

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002 - as in Jinja
        # Unchanged: the frames of the compiled code record the loop iteration in which it stopped.
        raise  # noqa: PLE0704 - called while the exception is handled


@cache
def _lexer(*, keeps_newline: bool) -> PlacedLexer:
    return PlacedLexer(Environment(keep_trailing_newline=keeps_newline))  # noqa: S701 - prompts are not HTML


class _MappingSandbox(_Mapping, Sandbox):
    """The same for the sandbox."""

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - as in Jinja
        """Return the result of the call. Functions of users receive plain strings."""
        if _escapes(__obj) and not kwargs and len(args) == 1 and type(args[0]) is MappedText:
            escaped = __obj(str(args[0]))
            pieces = [Deferred(escaped, partial(__obj, args[0]))]
            return args[0] if escaped == args[0] else MappedText(escaped, pieces)
        if not _keeps_pieces(__obj):
            args = tuple(_plain(each) for each in args)
            kwargs = {key: _plain(each) for key, each in kwargs.items()}
        result = super().call(__context, __obj, *args, **kwargs)
        if isinstance(__obj, types.BuiltinMethodType) and type(__obj.__self__) is str:
            return method_leaves(result, __obj.__name__, __obj.__self__, args, kwargs)
        return result

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Raise SecurityError, as for a plain string."""
        return super().unsafe_undefined(_plain(obj), attribute)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Wrap `str.format` as the sandbox does, with a version that retains pieces."""
        guarded = super().wrap_str_format(value)
        if guarded is None or isinstance(value.__self__, Markup) or value.__name__ != "format":
            return guarded
        return _Format(guarded, value.__self__)


class _Format:
    """`str.format` of a text, which retains the pieces of inserted values."""

    __slots__ = ("_guarded", "_text")

    def __init__(self, guarded: Callable[..., str], text: str) -> None:
        self._guarded = guarded
        self._text = text

    def __call__(self, *positional: Any, **named: Any) -> Any:
        result = str(self._guarded(*positional, **named))
        return method_leaves(result, "format", self._text, positional, named)


_KEEP_PIECES: Final = (Macro, LoopContext, BlockReference, types.BuiltinMethodType, _Format)


def _plain(value: Any) -> Any:
    if type(value) is MappedText:
        return str(value)
    return copy.copy(value) if type(value) is MappedMarkup else value


def _escapes(function: Any) -> bool:
    return isinstance(function, partial) and function.func is escape


def _keeps_pieces(function: Any) -> bool:
    """Return whether a function supports mapped texts, or only stores them."""
    if _escapes(function):
        return True
    if isinstance(function, types.MethodType):
        return type(function.__self__) is MappedText
    return isinstance(function, _KEEP_PIECES) or (isinstance(function, type) and function in _CLASSES)


def mapping_environment(loader: MappedLoader, *, sandboxed: bool) -> Environment:
    """Return an environment like that of `make_environment`, whose renderings are MappedTexts."""
    if sandboxed:
        environment: Environment = _MappingSandbox(loader=loader)
        environment.globals["range"] = range
    else:
        environment = _Mapping(loader=loader)
    environment.filters.update(MAPPING_FILTERS)
    return environment


def render_mapped(
    path: str,
    data: Mapping[str, Any],
    *,
    unsaved: Mapping[str, str] | None = None,
    options: RenderOptions = DEFAULT_OPTIONS,
    compiled: CompiledGroups | None = None,
) -> tuple[RenderedText, RenderedMap]:
    """Return the result of `render_text`, and its source map; raises PromptPoetError likewise.

    `compiled` caches the code of templates; use separate ones with and without the sandbox.
    """
    loader = MappedLoader(Path(path).parent, unsaved or {}, compiled)
    environment = mapping_environment(loader, sandboxed=options.sandboxed)
    rendered = render_loaded(environment, loader, Path(path).name, data, options)
    assert isinstance(rendered.text, MappedText)
    source_map = RenderedMap(rendered.text, rendered.data, loader.texts)
    return RenderedText(source_map.text, rendered.data, rendered.files), source_map
