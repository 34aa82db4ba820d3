"""Which rendered parts have a computed name, such as `turn {{ loop.index }}`."""

from __future__ import annotations

import re
from typing import Final

from promptls.meaning.parts import Part
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar

_QUOTES: Final = ("'", '"')
_ESCAPED: Final = re.compile(r"\\|''")


def name_pattern(chunk: Chunk, part: Part, *, is_alone: bool) -> re.Pattern[str] | None:
    """What the computed name of a part looks like; None for a written-out name, and where nothing is known.

    Unless the file `is_alone`, without others that may bring in parts, a name must have letters or digits
    of its own to be told by.
    """
    value = part.value("name")
    if not isinstance(value, Scalar) or not value.dynamic or value.style in {"|", ">"}:
        return None
    start, end = value.span
    if chunk.text[start:end].startswith(_QUOTES):
        start, end = start + 1, end - 1
    tags = [tag for tag in chunk.tags if tag.span.start < end and tag.span.end > start]
    statements = [tag for tag in tags if tag.kind == "statement"]
    if statements:  # what a branch or a loop leaves is not known
        covered = [(statements[0].span.start, statements[-1].span.end)]
        tags = [tag for tag in tags if tag.span.end <= covered[0][0] or tag.span.start >= covered[0][1]]
    else:
        covered = []
    pieces = []
    for first, last in sorted([*covered, *((tag.span.start, tag.span.end) for tag in tags)]):
        pieces.append(chunk.text[start:first])
        start = last
    pieces.append(chunk.text[start:end])
    if any(_ESCAPED.search(piece) for piece in pieces):
        return None
    if not is_alone and not any(any(map(str.isalnum, piece)) for piece in pieces):
        return None
    return re.compile(".*".join(map(re.escape, pieces)), re.DOTALL)
