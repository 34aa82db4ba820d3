"""The errors of `block` tags that only names tell: a name that stands twice, an end with another name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import chunks_where, united
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.span import Span


class BlockName(NamedTuple):
    """A `block` or `endblock` tag: its name, which an end may lack, and where that stands in the chunk."""

    opens: bool
    name: str
    span: Span


@kept
def block_names(chunk: Chunk) -> tuple[BlockName, ...]:
    """The `block` and `endblock` tags of the chunk, in order."""
    found = []
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" and not tag.unclosed else None
        if statement is not None and statement.keyword in {"block", "endblock"}:
            span = statement.name_span if statement.name else statement.keyword_span
            found.append(
                BlockName(statement.keyword == "block", statement.name, span.shifted(tag.span.start))
            )
    return tuple(found)


has_blocks: Final = united(lambda chunk: bool(block_names(chunk)), any, of_tags=True)
"""Whether a piece has `block` tags."""


def named_block_problems(source: Source) -> Iterator[SyntaxProblem]:
    """The blocks whose name stands twice in the file, and the ends that name another block."""
    if not has_blocks(source.root):
        return
    first: dict[str, Span] = {}
    stack: list[BlockName] = []
    for located in chunks_where(source.root, has_blocks):
        for each in block_names(located.chunk):
            span = each.span.shifted(located.start)
            if not each.opens:
                opening = stack.pop() if stack else None
                if opening is not None and opening.name and each.name and opening.name != each.name:
                    related = Related(opening.span, "opened here")
                    message = f"this ends the block `{opening.name}`, not `{each.name}`"
                    yield SyntaxProblem("jinja", span, message, (related,))
                continue
            stack.append(each._replace(span=span))
            if each.name and each.name in first:
                related = Related(first[each.name], "the first one")
                yield SyntaxProblem("jinja", span, f"the block `{each.name}` is there twice", (related,))
            elif each.name:
                first[each.name] = span
