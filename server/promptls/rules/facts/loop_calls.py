"""Calls of `loop`, with which a recursive loop goes one level deeper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import Edit, Finding, Fix
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.nodes import Call, Keyword, Name
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.text.span import Span

_RECURSIVE: Final = re.compile(r"\brecursive\s*[-+]?%\}$")
_OWN_NAMES: Final = frozenset({"for", "macro", "call", "block", "set", "filter", "with"})


def wrong_loop_calls(chunk: Chunk) -> Iterator[Finding]:
    """The calls of `loop` in loops that are not recursive, and those without exactly one list."""
    if "loop" not in chunk.text:
        return
    for start, node in expressions_in(chunk):
        if not isinstance(node, Call) or not isinstance(node.function, Name) or node.function.name != "loop":
            continue
        place = node.function.span.shifted(start)
        opening = _loop_around(chunk, start)
        if opening is None:
            continue
        if not _RECURSIVE.search(opening.text):
            if tag_tree(opening).problems:
                continue
            end = opening.span.start + len(opening.text[: opening.inner_end].rstrip())
            fix = Fix("Make the loop `recursive`", (Edit(Span(end, end), " recursive"),), preferred=True)
            yield Finding(place, "only a `recursive` loop can be called", (fix,))
        elif not node.arguments:
            yield Finding(place, "`loop` takes the list of the next level, and nothing is given")
        elif len(node.arguments) > 1 and not any(isinstance(each, Keyword) for each in node.arguments):
            message = f"`loop` takes 1 argument, and {len(node.arguments)} are given"
            yield Finding(node.arguments[1].span.shifted(start), message)


def _loop_around(chunk: Chunk, offset: int) -> Tag | None:
    """The tag of the loop whose `loop` a tag sees; None where that is not in the chunk, or not certain."""
    inner: tuple[int, str] | None = None
    for pair in chunk_blocks(chunk).pairs:
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        inside = opening.span.start < offset < closing.span.start
        if inside and pair.keyword in _OWN_NAMES and (inner is None or pair.opening > inner[0]):
            inner = (pair.opening, pair.keyword)
            if pair.keyword == "for" and pair.middles and offset > chunk.tags[pair.middles[0]].span.start:
                inner = (pair.opening, "else")
    return chunk.tags[inner[0]] if inner is not None and inner[1] == "for" else None
