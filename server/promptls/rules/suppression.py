"""Findings that the file itself asks not to hear of.

`{# promptls: ignore[rule-name] reason #}` silences the named rules on its own line, or,
where nothing else stands on its line, on the next one.
"""

from __future__ import annotations

import re
from typing import Final

from promptls.syntax.chunk import Chunk
from promptls.syntax.group import gathered, united
from promptls.syntax.source import Source
from promptls.text.lines import line_end, place_of

_COMMENT: Final = re.compile(r"promptls:\s*ignore\[([\w\-, ]+)\]")


def suppressed_lines(source: Source) -> dict[int, frozenset[str]]:
    """The rules that are silenced, by the lines of the file."""
    found: dict[int, frozenset[str]] = {}
    for offset, lines, names in _comments(source.root):
        line = source.place(offset).line + lines
        found[line] = found.get(line, frozenset()) | names
    return found


def suppressions(source: Source) -> object:
    """The rules that are silenced anywhere, without their places; the same object for as long as they are."""
    return _names(source.root)


def _in_chunk(chunk: Chunk) -> list[tuple[int, int, frozenset[str]]]:
    """The offset of each such comment, how many lines behind it the silenced line is, and the rules."""
    found = []
    for tag in chunk.tags:
        match = _COMMENT.search(tag.text) if tag.kind == "comment" else None
        if match is None:
            continue
        first = place_of(chunk.line_starts, tag.span.start)
        last = place_of(chunk.line_starts, tag.span.end)
        before = chunk.text[tag.span.start - first.column : tag.span.start]
        behind = chunk.text[tag.span.end : line_end(chunk.text, tag.span.end)]
        is_alone = not before.strip() and not behind.strip()
        names = frozenset(name.strip() for name in match.group(1).split(","))
        found.append((tag.span.start, last.line + 1 - first.line if is_alone else 0, names))
    return found


_names: Final = united(lambda chunk: tuple([each[1:] for each in _in_chunk(chunk)]), tuple[object, ...])
_comments: Final = gathered(_in_chunk, lambda comment, by: (comment[0] + by, *comment[1:]))
