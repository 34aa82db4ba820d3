"""A file cut into chunks, so that an edit costs what it changes.

A chunk reaches from one list item in the first column (`- …`) to the next, or over the
whole text where the YAML under the Jinja is no list. Chunks are immutable, know nothing
of where they stand, and keep what is derived from them: of an edited file all chunks but
the edited ones are the same objects as before, with everything already known of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Final, NamedTuple, TypeVar

from promptls.facts.reads import current
from promptls.syntax.jinja.scanner import UNSEEN, Tag, items_pattern, scan
from promptls.text.positions import Span, line_end, line_starts

_CONTENT: Final = re.compile(r"^[ \t]*(?!---(?:\s|$)|#|%|\{[ \t]*$)\S", re.MULTILINE)
"""Text that is more than a comment, the beginning of a document, or the first brace of a tag."""
_DEFINES: Final = re.compile(r"macro\b|set\s[^=]*\Z")
"""What begins a macro, or a variable whose value stands in a block."""
_DEFINED: Final = re.compile(r"end(?:macro|set)\b")
_KEY_LINE: Final = re.compile(r"^[\w-]+[ \t]*:(?:\s|$)", re.MULTILINE)


class Chunk:
    """A piece of a text with its Jinja tags; spans inside it count from its start.

    `reach` is how many characters behind its end could change its tags: none, unless a tag
    in it is not closed. `lines` are where its lines begin, for who knows. `kept` holds what is derived
    from the chunk, by the function that `chunk_fact` wraps.
    """

    __slots__ = ("_tags", "_text", "before", "kept", "length", "line_ends", "line_starts", "reach")

    count: Final = 1
    """How many chunks the piece holds, as `Group.count` says it."""

    def __init__(
        self, text: str, tags: tuple[Tag, ...], *, reach: int, lines: list[int] | None = None
    ) -> None:
        self._text: Final = text
        self._tags: Final = tags
        self.reach: Final = reach
        self.length: Final = len(text)
        self.line_starts: Final = line_starts(text) if lines is None else lines
        self.line_ends: Final = len(self.line_starts) - 1
        self.kept: Final[dict[object, object]] = {}
        self.before: Before | None = None

    @property
    def text(self) -> str:
        """The text of the chunk."""
        reads = current.get()
        if reads is not None:
            reads.chunks.add(self)
        return self._text

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tags in the chunk, in order."""
        reads = current.get()
        if reads is not None:
            reads.chunks.add(self)
        return self._tags

    @property
    def is_reaching(self) -> bool:
        """Whether the chunk depends on text behind it."""
        return self.reach > 0

    @property
    def has_same_tags(self) -> bool:
        """Whether an edit made the chunk of another one and left the text of every tag as it was."""
        return self.before is not None and self.before.has_same_tags

    def tags_at(self, span: Span) -> tuple[Tag, ...]:
        """Return the tags that stand in a span, or that part of it stands in."""
        first = bisect_right(self.tags, span.start, key=_tag_end)
        return self.tags[first : bisect_left(self.tags, span.end, lo=first, key=_tag_start)]

    @property
    def has_content(self) -> bool:
        """Whether anything but tags, comments and blank lines stands in the chunk."""
        return _has_content(self)

    @property
    def has_printed_content(self) -> bool:
        """The same of what stands outside of macros and `set` blocks, whose texts are printed elsewhere."""
        return _has_printed_content(self)


def _tag_start(tag: Tag) -> int:
    return tag.span.start


def _tag_end(tag: Tag) -> int:
    return tag.span.end


class Before(NamedTuple):
    """How a chunk came about: what it was, the span of that which was edited, and by how much it grew.

    `has_same_tags` says that each tag has the same text as before.
    """

    chunk: Chunk
    edited: Span
    growth: int
    has_same_tags: bool


def succeed(old: Chunk, new: Chunk, edited: Span) -> None:
    """Let `new`, which an edit of that span in `old` has made, use what is known of `old`.

    Facts of tags alone are the same where no tag has another text. How it came about is told in
    `Chunk.before`, for those who can make use of it.
    """
    old.before = None  # or each edit would hold on to all those before it
    if new is old:
        return
    has_same_tags = len(old.tags) == len(new.tags) and all(map(Tag.is_same, old.tags, new.tags))
    new.before = Before(old, edited, new.length - old.length, has_same_tags)
    if has_same_tags:
        for fact in FACTS_OF_TAGS & old.kept.keys():
            new.kept[fact] = old.kept[fact]


FACTS_OF_TAGS: Final[set[object]] = set()
"""What is kept with chunks that depends on nothing but the texts of their tags."""

Fact = TypeVar("Fact")
_MISSING: Final = object()


def chunk_fact(find: Callable[[Chunk], Fact]) -> Callable[[Chunk], Fact]:
    """Make a function of a chunk's text a fact of the chunk, which is computed once and stored with it."""

    @wraps(find)
    def fact(chunk: Chunk) -> Fact:
        reads = current.get()
        found = chunk.kept.get(find, _MISSING)
        if reads is None:
            if found is _MISSING:
                found = chunk.kept[find] = find(chunk)
            return found  # type: ignore[return-value]  # put there above
        reads.columns[fact] = None
        if found is _MISSING:
            token = current.set(None)
            try:
                found = chunk.kept[find] = find(chunk)
            finally:
                current.reset(token)
        return found  # type: ignore[return-value]  # put there above

    return fact


@chunk_fact
def _has_content(chunk: Chunk) -> bool:
    return bool(_CONTENT.search(" ".join([piece for _, piece in _texts(chunk)])))


@chunk_fact
def _has_printed_content(chunk: Chunk) -> bool:
    if not _has_content(chunk):
        return False
    printed: list[str] = []
    opened: list[int] = []
    for tag, piece in _texts(chunk):
        inner = tag.text[tag.inner_start : tag.inner_end].strip() if tag else ""
        if tag and tag.kind == "statement" and _DEFINES.match(inner):
            opened.append(len(printed))
        elif tag and tag.kind == "statement" and _DEFINED.match(inner) and opened:
            del printed[opened.pop() :]
        printed.append(piece)
    if opened and not _KEY_LINE.search("".join(printed[opened[0] :])):
        del printed[opened[0] :]  # a macro that is being written, with no mapping behind it
    return bool(_CONTENT.search(" ".join(printed)))


def _texts(chunk: Chunk) -> Iterator[tuple[Tag | None, str]]:
    """Yield the texts that are no tags, those of raw blocks among them, each with the tag ahead of it."""
    text = chunk.text
    position, before, comment_end = 0, None, -1
    for tag in chunk.tags:
        yield before, text[position : tag.span.start]
        before = tag
        if tag.kind == "raw":
            yield None, text[tag.body.start : tag.body.end]
        position = tag.span.end
        if tag.kind == "comment" and tag.unclosed:  # what stands on its line is to be the comment
            if comment_end < position:
                comment_end = line_end(text, position)
            position = comment_end
    yield before, text[position:]


def cut(text: str, *, at_items: bool) -> list[Chunk]:
    """Return the chunks of `text`, in order; at least one, and together the whole text."""
    chunks = []
    start = 0
    items = items_pattern(text) if at_items else None
    missing: set[re.Pattern[str]] = set()
    while True:
        found = scan(text, start, items=items, missing=missing)
        reach = UNSEEN if found.seen >= UNSEEN else max(0, found.seen - found.end)
        chunks.append(Chunk(text[start : found.end], found.tags, reach=reach))
        start = found.end
        if start >= len(text):
            return chunks
