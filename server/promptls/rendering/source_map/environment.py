"""Jinja's environment for renderings whose text keeps its pieces."""

from __future__ import annotations

import types
from collections.abc import MutableMapping
from functools import cache, partial
from typing import Any, Final, NoReturn

from jinja2 import BaseLoader, Environment, Template, nodes
from jinja2.defaults import DEFAULT_FILTERS
from jinja2.environment import TemplateModule
from jinja2.lexer import newline_re
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace

from promptls.rendering.source_map.code_generator import MappingCodeGenerator
from promptls.rendering.source_map.filters import mapping_filters
from promptls.rendering.source_map.lexer import PlacedLexer, placed_lexer
from promptls.rendering.source_map.pieces import (
    MappedText,
    SourceFile,
    joined,
    joined_values,
    passed_on,
    shown,
)
from promptls.systems.prompt_poet.cleanup import escape
from promptls.systems.prompt_poet.environment import CompiledTemplates, Sandbox

_FILTERS: Final = mapping_filters(DEFAULT_FILTERS)
_KEEP_PIECES: Final = (Macro, LoopContext, BlockReference, types.BuiltinMethodType)
_CLASSES: Final = frozenset({dict, Namespace, Cycler, Joiner})


class _MappedModule(TemplateModule):
    """An imported file, which prints what it printed when it was imported."""

    def __str__(self) -> str:
        return joined(self.__dict__["_body_stream"])


class _MappedTemplate(Template):
    """A template whose code yields pieces."""

    @classmethod
    def _from_namespace(
        cls,
        environment: Environment,
        namespace: MutableMapping[str, Any],
        globals: MutableMapping[str, Any],  # noqa: A002 - Jinja's name
    ) -> Template:
        namespace["FILE"] = SourceFile(
            namespace["__file__"], namespace["sites"], namespace["aliases"], frozenset(namespace["bound"])
        )
        return super()._from_namespace(environment, namespace, globals)

    def make_module(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Any = None,  # noqa: A002, FBT001, FBT002 - as in Jinja
    ) -> TemplateModule:
        return _MappedModule(self, self.new_context(vars, shared, locals))


class _Mapping(Environment):
    """What compiled templates call, and what compiles them."""

    code_generator_class = MappingCodeGenerator
    template_class = _MappedTemplate
    concat = staticmethod(joined)
    shown = staticmethod(shown)
    passed_on = staticmethod(passed_on)
    joined_values = staticmethod(joined_values)

    @property
    def lexer(self) -> PlacedLexer:
        return _lexer()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        tree.text = "\n".join(newline_re.split(source)[::2])
        return tree

    def handle_exception(self, source: str | None = None) -> NoReturn:
        # As it is: the frames of the compiled code know in which turn of which loop it stopped.
        raise  # noqa: PLE0704 - called while the exception is handled


@cache
def _lexer() -> PlacedLexer:
    return placed_lexer(Environment())  # noqa: S701 - prompts are no HTML


class _MappingSandbox(_Mapping, Sandbox):
    """The same in the sandbox."""

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as in Jinja
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


def mapping_environment(
    loader: BaseLoader, *, sandboxed: bool = True, compiled: CompiledTemplates | None = None
) -> Environment:
    """An environment as `make_environment` makes it, whose renderings are MappedTexts.

    `compiled` must not be shared with other environments.
    """
    if sandboxed:
        environment: Environment = _MappingSandbox(loader=loader, bytecode_cache=compiled)
        environment.globals["range"] = range
    else:
        environment = _Mapping(loader=loader, bytecode_cache=compiled)
    environment.filters.update(_FILTERS)
    return environment
