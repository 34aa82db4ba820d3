"""Jinja environments for renderings whose text retains its pieces."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from functools import cache, partial
from types import CodeType
from typing import Any, Final, NoReturn

from jinja2 import Environment, Undefined, nodes
from jinja2.filters import FILTERS
from jinja2.lexer import newline_re
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from promptls.dialects.prompt_poet.cleanup import escape
from promptls.dialects.prompt_poet.environment import Sandbox
from promptls.rendering.source_map import read_values
from promptls.rendering.source_map.code_generator import MappingCodeGenerator
from promptls.rendering.source_map.filters import mapping_filters
from promptls.rendering.source_map.lexer import PlacedLexer
from promptls.rendering.source_map.mapped_text import MappedMarkup, MappedText, method_leaves
from promptls.rendering.source_map.pieces import Deferred
from promptls.rendering.source_map.templates import MappedLoader
from promptls.rendering.worker import MARK

_FILTERS: Final = mapping_filters(FILTERS)
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


def mapping_environment(loader: MappedLoader, *, sandboxed: bool = True) -> Environment:
    """Return an environment like that of `make_environment`, whose renderings are MappedTexts."""
    if sandboxed:
        environment: Environment = _MappingSandbox(loader=loader)
        environment.globals["range"] = range
    else:
        environment = _Mapping(loader=loader)
    environment.filters.update(_FILTERS)
    return environment
