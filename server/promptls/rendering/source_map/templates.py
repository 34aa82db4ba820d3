"""Templates whose code yields pieces, loaded in groups: an unchanged group is compiled only once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, Template, runtime
from jinja2.environment import TemplateModule
from jinja2.runtime import Context

from promptls.dialects.prompt_poet.environment import FolderLoader
from promptls.rendering.source_map.expressions import Bindings
from promptls.rendering.source_map.lexer import (
    NO_SKELETON,
    Filled,
    Group,
    Grouping,
    PlacedLexer,
    filled_in,
    skeleton_of,
)
from promptls.rendering.source_map.pieces import FileNames, SourceFile
from promptls.rendering.source_map.read_values import joined
from promptls.rendering.worker import MARK

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

    def groups(self, lexer: PlacedLexer, text: str) -> list[Group]:
        """Return the groups of a text."""
        return self._groupings.setdefault(lexer, Grouping(lexer)).groups(text)

    def code(self, environment: Any, path: str, name: str, group: Group) -> Filled:
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
        given = {} if globals is None else globals
        groups = self._compiled.groups(environment.lexer, text)  # type: ignore[arg-type] # the mapping one's
        if len(groups) > 1:
            try:
                return self._assembled(environment, groups, name, path, given)
            except Exception:  # noqa: BLE001, S110 - compiling the whole text reports the error and its location
                pass
        return self._assembled(environment, [Group(text, 0, 0, is_last=True)], name, path, given)

    def _assembled(
        self,
        environment: Any,
        groups: Iterable[Group],
        name: str,
        path: str,
        given: MutableMapping[str, Any],
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
            template = _MappedTemplate._from_namespace(environment, namespace, given)  # noqa: SLF001 - as Jinja
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
        names = FileNames(
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
