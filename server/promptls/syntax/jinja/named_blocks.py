"""The errors of `block` tags that a tag alone does not tell.

A name that stands twice, an end with another name, and something in a block that is `required`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import chunks_where, united
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
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


@kept
def _filled_blocks(chunk: Chunk) -> tuple[tuple[Span, bool], ...]:
    """The names of the `required` blocks with something in them, which Jinja refuses.

    With each, whether the block is blank as far as the chunk goes, which does not end it: whatever chunk is
    behind it fills it.
    """
    found = []
    for number, tag in enumerate(chunk.tags):
        statement = tag_tree(tag).statement if tag.kind == "statement" and not tag.unclosed else None
        if statement is None or statement.keyword != "block" or not statement.name:
            continue
        is_required = "required" in tag.text[statement.name_span.end : tag.inner_end].split()
        is_blank = _is_blank(chunk, number) if is_required else True
        if is_blank is not True:
            found.append((statement.name_span.shifted(tag.span.start), is_blank is None))
    return tuple(found)


def _is_blank(chunk: Chunk, number: int) -> bool | None:
    """Whether nothing but white space and comments stands behind a tag, up to a block's end.

    None where the chunk ends first.
    """
    for tag, behind in pairwise(chunk.tags[number:]):
        if chunk.text[tag.span.end : behind.span.start].strip():
            return False
        if behind.kind == "statement" and tag_tree(behind).statement.keyword == "endblock":
            return True
        if behind.kind != "comment" and not (behind.kind == "raw" and not _text_of(chunk, behind).strip()):
            return False
    return False if chunk.text[chunk.tags[-1].span.end :].strip() else None


def _text_of(chunk: Chunk, raw: Tag) -> str:
    return chunk.text[raw.body.start : raw.body.end]


has_blocks: Final = united(lambda chunk: bool(block_names(chunk)), any, of_tags=True)
"""Whether a piece has `block` tags."""


def named_block_problems(source: Source) -> Iterator[SyntaxProblem]:
    """The blocks whose name stands twice in the file or that hold too much, and the wrong names of ends."""
    if not has_blocks(source.root):
        return
    first: dict[str, Span] = {}
    stack: list[BlockName] = []
    for located in chunks_where(source.root, has_blocks):
        for filled, is_open in _filled_blocks(located.chunk):
            if not is_open or located.start + located.chunk.length < len(source):
                message = "a `required` block holds nothing but white space and comments: others fill it"
                yield SyntaxProblem("jinja", filled.shifted(located.start), message)
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
