"""The chunks that an edit makes anew, in a text whose list items begin chunks."""

from __future__ import annotations

from itertools import islice

from promptls.syntax.chunk import Chunk, cut
from promptls.syntax.group import Group, Located, chunk_of_offset, chunks_from, chunks_where, replaced
from promptls.text.span import Span


def depending_on(root: Group, span: Span) -> Located:
    """The first chunk whose tags may change when `span` does: its own, or one that reaches it."""
    first = chunk_of_offset(root, span.start)
    if not root.is_reaching:
        return first
    for located in chunks_where(root, lambda piece: piece.is_reaching):
        if located.index >= first.index:
            break
        if span.start <= located.start + located.chunk.length + located.chunk.reach:
            return located
    return first


def text_with(root: Group, first: Located, last: int, span: Span, text: str) -> str:
    """The text of the chunks from `first` to number `last`, with `span` replaced in it."""
    chunks = islice(chunks_from(root, first.index), last - first.index + 1)
    old = "".join([located.chunk.text for located in chunks])
    return old[: span.start - first.start] + text + old[span.end - first.start :]


def recut(root: Group, first: int, last: int, text: str) -> Group:
    """The tree with the chunks from number `first` to `last` replaced by those of `text`.

    The text grows over the following chunks as long as what it says is not settled by
    itself: a tag may close further down, or the text may not end with its line.
    """
    step = 1
    chunks = cut(text, at_items=True)
    while last + 1 < root.count and not (text.endswith(("\n", "\r")) and _is_settled(chunks)):
        following = [located.chunk for located in islice(chunks_from(root, last + 1), step)]
        text += "".join([chunk.text for chunk in following])
        last += len(following)
        step *= 4
        chunks = cut(text, at_items=True)
    before = islice(chunks_from(root, first), last - first + 1)
    shared = {located.chunk.text: located.chunk for located in before}
    fresh = tuple(
        known
        if (known := shared.pop(chunk.text, None)) and (known.tags, known.reach) == (chunk.tags, chunk.reach)
        else chunk
        for chunk in chunks
    )
    return replaced(root, first, last, fresh)


def _is_settled(chunks: list[Chunk]) -> bool:
    """Whether no chunk depends on text behind the last one."""
    behind = 0
    for chunk in reversed(chunks):
        if chunk.reach > behind:
            return False
        behind += chunk.length
    return True
