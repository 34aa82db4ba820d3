"""The other templates that a file names: includes, imports and `extends`."""

from __future__ import annotations

from typing import NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.nodes import Collection, Constant, Missing
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.text.span import Span


class TemplateReference(NamedTuple):
    """One name of another template; `name` is None where an expression gives it.

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


@kept
def template_references(chunk: Chunk) -> tuple[TemplateReference, ...]:
    """The templates that the chunk's tags name, in order."""
    return tuple(
        reference for tag in chunk.tags if tag.kind == "statement" and (reference := _reference(tag))
    )


def _reference(tag: Tag) -> TemplateReference | None:
    statement = tag_tree(tag).statement
    template = statement.template
    if template is None:
        return None
    span = template.span.shifted(tag.span.start)
    name: str | None = None
    alternatives: tuple[str, ...] = ()
    if isinstance(template, Constant) and isinstance(template.value, str):
        name = template.value
    elif isinstance(template, Collection):
        texts = [item.value for item in template.items if isinstance(item, Constant)]
        if len(texts) == len(template.items) and all(isinstance(text, str) for text in texts):
            alternatives = tuple(texts)
            name = texts[0] if texts else None
    return TemplateReference(
        statement.keyword,
        name,
        span,
        alternatives,
        statement.ignore_missing,
        statement.with_context,
        is_unfinished=bool(tag.unclosed) or isinstance(template, Missing),
    )
