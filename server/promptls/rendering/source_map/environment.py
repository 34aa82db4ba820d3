"""Jinja's environment for renderings whose text keeps its pieces."""

from __future__ import annotations

import types
from functools import cache, partial
from types import CodeType
from typing import Any, Final, NoReturn

from jinja2 import Environment, nodes
from jinja2.filters import FILTERS
from jinja2.lexer import newline_re
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace

from promptls.rendering.mark import MARK
from promptls.rendering.source_map.code_generator import MappingCodeGenerator
from promptls.rendering.source_map.filters import mapping_filters
from promptls.rendering.source_map.lexer import PlacedLexer
from promptls.rendering.source_map.mapped_text import MappedText, joined, joined_values, passed_on, shown
from promptls.rendering.source_map.templates import MappedLoader
from promptls.systems.prompt_poet.cleanup import escape
from promptls.systems.prompt_poet.environment import Sandbox

_FILTERS: Final = mapping_filters(FILTERS)
_KEEP_PIECES: Final = (Macro, LoopContext, BlockReference, types.BuiltinMethodType)
_CLASSES: Final = frozenset({dict, Namespace, Cycler, Joiner})


class _Mapping(Environment):
    """What compiled templates call, and what compiles them."""

    code_generator_class = MappingCodeGenerator
    concat = staticmethod(joined)  # type: ignore[assignment] # pieces, where Jinja has texts
    shown = staticmethod(shown)
    passed_on = staticmethod(passed_on)
    joined_values = staticmethod(joined_values)

    mark_base = 0
    """The mark of the first line of what is compiled; see `mark`."""
    _is_last = True

    @property
    def lexer(self) -> PlacedLexer:
        return _lexer(keeps_newline=not self._is_last)

    def group_lexer(self, *, is_last: bool) -> PlacedLexer:
        """The lexer that reads a group."""
        return _lexer(keeps_newline=not is_last)

    def compile_group(self, text: str, name: str, path: str, line: int, *, is_last: bool) -> CodeType:
        """The code of a group of a template, which begins on the 0-based `line`.

        Of the last group, Jinja drops a line break at the end.
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
        # As it is: the frames of the compiled code know in which turn of which loop it stopped.
        raise  # noqa: PLE0704 - called while the exception is handled


@cache
def _lexer(*, keeps_newline: bool) -> PlacedLexer:
    return PlacedLexer(Environment(keep_trailing_newline=keeps_newline))  # noqa: S701 - prompts are no HTML


class _MappingSandbox(_Mapping, Sandbox):
    """The same in the sandbox."""

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - as in Jinja
        """What the call gives. Functions of users get plain texts."""
        if not _keeps_pieces(__obj):
            args = tuple(str(each) if type(each) is MappedText else each for each in args)
            kwargs = {key: str(each) if type(each) is MappedText else each for key, each in kwargs.items()}
        return super().call(__context, __obj, *args, **kwargs)


def _keeps_pieces(function: Any) -> bool:
    """Whether a function knows what to do with mapped texts, or only puts them away."""
    if isinstance(function, partial):
        return function.func is escape
    if isinstance(function, types.MethodType):
        return type(function.__self__) is MappedText
    return isinstance(function, _KEEP_PIECES) or (isinstance(function, type) and function in _CLASSES)


def mapping_environment(loader: MappedLoader, *, sandboxed: bool = True) -> Environment:
    """An environment as `make_environment` makes it, whose renderings are MappedTexts."""
    if sandboxed:
        environment: Environment = _MappingSandbox(loader=loader)
        environment.globals["range"] = range
    else:
        environment = _Mapping(loader=loader)
    environment.filters.update(_FILTERS)
    return environment
