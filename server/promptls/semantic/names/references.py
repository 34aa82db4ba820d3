"""The other templates that a file names: includes, imports and `extends`."""

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
    """One name of another template; `name` is None if an expression gives it.

    `alternatives` are the names of a list, of which the first that exists is taken. The span
    counts from the chunk's start and holds the name with its quotes.
    """

    keyword: str
    name: str | None
    span: Span
    alternatives: tuple[str, ...] = ()
    ignore_missing: bool = False
    with_context: bool = False
    is_unfinished: bool = False
    """Whether the tag is still being written, so that nobody knows yet what it will name."""
    is_choice: bool = False
    """Whether a condition in the tag chooses this name or another one: `"a" if b else "c"`."""
    where: frozenset[Need] = frozenset()
    """What holds where a name is chosen that the tag puts together, as far as it is known."""


@chunk_fact
def template_references(chunk: Chunk) -> tuple[TemplateReference, ...]:
    """Return the templates that the chunk's tags name, in order.

    A condition between names gives one for each.
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
    """Yield what an expression may have as its value, by its conditions and defaults.

    Of any other one, itself.
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
