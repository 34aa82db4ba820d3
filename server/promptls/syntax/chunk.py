"""A file cut into chunks, so that an edit costs what it changes.

A chunk reaches from one list item in the first column (`- …`) to the next, or over the
whole text where the YAML under the Jinja is no list. Chunks are immutable, know nothing
of where they stand, and keep what is derived from them: of an edited file all chunks but
the edited ones are the same objects as before, with everything already known of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Final, TypeVar

from promptls.syntax.jinja.scan import UNSEEN, Tag, scan
from promptls.text.lines import line_starts

_CONTENT: Final = re.compile(r"^[ \t]*(?!---(?:\s|$)|#|%)\S", re.MULTILINE)


class Chunk:
    """A piece of a text with its Jinja tags; spans inside it count from its start.

    `reach` is how many characters behind its end could change its tags: none, unless a tag
    in it is not closed. `kept` holds what is derived from the chunk, by the function `kept` wraps.
    """

    __slots__ = ("__dict__", "kept", "length", "line_ends", "line_starts", "reach", "tags", "text")

    count: Final = 1
    """How many chunks the piece holds, as `Group.count` says it."""

    def __init__(self, text: str, tags: tuple[Tag, ...], *, reach: int) -> None:
        self.text: Final = text
        self.tags: Final = tags
        self.reach: Final = reach
        self.length: Final = len(text)
        self.line_starts: Final = line_starts(text)
        self.line_ends: Final = len(self.line_starts) - 1
        self.kept: Final[dict[object, object]] = {}

    @property
    def is_reaching(self) -> bool:
        """Whether the chunk depends on text behind it."""
        return self.reach > 0

    @cached_property
    def has_content(self) -> bool:
        """Whether anything but tags, comments and blank lines stands in the chunk."""
        pieces = []
        position = 0
        for tag in self.tags:
            pieces.append(self.text[position : tag.span.start])
            if tag.kind == "raw":
                pieces.append(self.text[tag.body.start : tag.body.end])
            position = tag.span.end
        return bool(_CONTENT.search(" ".join([*pieces, self.text[position:]])))


Derived = TypeVar("Derived")
_MISSING: Final = object()


def kept(derive: Callable[[Chunk], Derived]) -> Callable[[Chunk], Derived]:
    """`derive`, computed once a chunk and kept with the chunk for as long as that lives."""

    @wraps(derive)
    def once(chunk: Chunk) -> Derived:
        derived = chunk.kept.get(derive, _MISSING)
        if derived is _MISSING:
            derived = chunk.kept[derive] = derive(chunk)
        return derived  # type: ignore[return-value]  # put there above

    return once


def cut(text: str, *, at_items: bool) -> list[Chunk]:
    """The chunks of `text`, in order; at least one, and together the whole text."""
    chunks = []
    start = 0
    missing: set[re.Pattern[str]] = set()
    while True:
        found = scan(text, start, stop_at_items=at_items, missing=missing)
        reach = UNSEEN if found.seen >= UNSEEN else max(0, found.seen - found.end)
        chunks.append(Chunk(text[start : found.end], found.tags, reach=reach))
        start = found.end
        if start >= len(text):
            return chunks
