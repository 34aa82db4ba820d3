"""Find the other templates that a file names in includes, imports and `extends`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.semantic.types.shape import Need
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.nodes import (
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Missing,
    Operation,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span


class TemplateReference(NamedTuple):
    """A name of a different template; `name` is None if it is an expression.

    `alternatives` are the names of a list, the first of which that exists is used. The span
    counts from the chunk's start and includes the quotes.
    """

    keyword: str
    name: str | None
    span: Span
    alternatives: tuple[str, ...] = ()
    ignore_missing: bool = False
    with_context: bool = False
    is_unfinished: bool = False
    """Whether the tag is incomplete, so that its template is not known yet."""
    is_choice: bool = False
    """Whether the name is one of several that a condition in the tag chooses from: `"a" if b else "c"`."""
    where: frozenset[Need] = frozenset()
    """The known conditions for a name that the tag concatenates."""


@chunk_fact
def template_references(chunk: Chunk) -> tuple[TemplateReference, ...]:
    """Return the templates that the chunk's tags name, in order.

    A conditional expression yields a reference for each name.
    """
    return tuple(reference for tag in chunk.tags if tag.kind == "statement" for reference in _references(tag))


def _references(tag: Tag) -> Iterator[TemplateReference]:
    statement = tag_tree(tag).statement
    template = statement.template
    if template is None:
        return
    for named in sorted(choices(template), key=lambda each: each.span):
        name: str | None = None
        alternatives: tuple[str, ...] = ()
        if isinstance(named, Constant) and isinstance(named.value, str):
            name = named.value
        elif isinstance(named, Collection):
            texts = [item.value for item in named.items if isinstance(item, Constant)]
            if len(texts) == len(named.items) and all(isinstance(text, str) for text in texts):
                alternatives = tuple(texts)
                name = texts[0] if texts else None
        yield TemplateReference(
            statement.keyword,
            name,
            named.span.shifted(tag.span.start),
            alternatives,
            statement.ignore_missing,
            statement.with_context,
            is_unfinished=bool(tag.unclosed) or isinstance(named, Missing),
            is_choice=named is not template,
        )


def choices(expression: Expression) -> Iterator[Expression]:
    """Yield the possible values of an expression, by its conditions and defaults.

    For any other expression, the expression itself.
    """
    match expression:
        case Conditional(then=then, otherwise=otherwise):
            yield from choices(then)
            if otherwise is not None:
                yield from choices(otherwise)
        case Filter(name="default" | "d", target=target, arguments=(Constant() as given, *_)) if target:
            yield from choices(target)
            yield given
        case Operation(operators=("or", *_), operands=operands):
            for operand in operands:
                yield from choices(operand)
        case _:
            yield expression
