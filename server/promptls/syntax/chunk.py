"""The chunks of a file and their order, so that the cost of an edit depends on what it changes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from itertools import accumulate, count
from typing import Any, Final, NamedTuple, TypeVar

from promptls.facts import Reads, current, unrecorded
from promptls.syntax.jinja.scanner import UNSEEN, Tag, items_pattern, scan
from promptls.text.positions import LineColumn, Span, line_column, line_end, line_ends, line_starts

_CONTENT: Final = re.compile(r"^[ \t]*(?!---(?:\s|$)|#|%|\{[ \t]*$)\S", re.MULTILINE)
"""Text other than comments, document markers and the first brace of a tag."""
_DEFINES: Final = re.compile(r"macro\b|set\s[^=]*\Z")
"""The beginning of a macro, or of a variable whose value is a block."""
_DEFINED: Final = re.compile(r"end(?:macro|set)\b")
_KEY_LINE: Final = re.compile(r"^[\w-]+[ \t]*:(?:\s|$)", re.MULTILINE)


class Role(Enum):
    """The role of a chunk's YAML in its file."""

    BLOCK = "block"
    """Independent YAML: a list item in the first column, entries of a mapping, or a whole text."""
    ELEMENTS = "elements"
    """Items of a list that begins, or whose key is, in an earlier chunk."""
    ENTRIES = "entries"
    """Entries of an inner mapping that begins in an earlier chunk."""
    JSON_MEMBERS = "members of a JSON object"
    """The first chunk contains the opening brace of the object, the last one the closing brace."""
    JSON_ELEMENTS = "elements of a JSON array"
    """Elements of an array that is the value of a member in an earlier chunk."""


_BEGINNING: Final = 10_000
"""The characters of a large chunk whose lines are found without those of the others."""


class Chunk:
    """A piece of a text with its Jinja tags; spans inside it count from its start.

    `reach` is how many characters after its end could change its tags: 0 unless a tag in it is not
    closed. `facts` caches what is computed from the chunk, by the function that `chunk_fact` wraps.
    """

    __slots__ = ("_line_starts", "_tags", "_text", "facts", "length", "line_ends", "reach", "role")

    def __init__(
        self,
        text: str,
        tags: tuple[Tag, ...],
        *,
        reach: int,
        role: Role = Role.BLOCK,
    ) -> None:
        self._text: Final = text
        self._tags: Final = tags
        self.reach: Final = reach
        self.role: Final = role
        self.length: Final = len(text)
        self.line_ends: Final = line_ends(text)
        self._line_starts: list[int] | None = None
        self.facts: Final[dict[object, object]] = {}

    @property
    def text(self) -> str:
        """The text of the chunk."""
        reads = current.get()
        if reads is not None:
            reads.chunks.add(self)
        return self._text

    @property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins; found when needed, as a chunk can be a large file."""
        if self._line_starts is None:
            self._line_starts = line_starts(self._text)
        return self._line_starts

    def line_column(self, offset: int) -> LineColumn:
        """Return the line and column of an offset in the chunk."""
        if self._line_starts is None and offset < _BEGINNING < self.length:
            # Two more characters, so that no line break is cut.
            return line_column(line_starts(self._text[: offset + 2]), offset)
        return line_column(self.line_starts, offset)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tags in the chunk, in order."""
        reads = current.get()
        if reads is not None:
            reads.chunks.add(self)
        return self._tags

    @property
    def is_reaching(self) -> bool:
        """Whether the chunk depends on text after it."""
        return self.reach > 0

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text[span.start : span.end]

    def tags_at(self, span: Span) -> tuple[Tag, ...]:
        """Return the tags that overlap a span."""
        tags = self.tags  # the read is recorded here, because places would make every edit a change
        starts, ends = unrecorded(_tag_edges, self)
        first = bisect_right(ends, span.start)
        return tags[first : bisect_left(starts, span.end, lo=first)]

    def tag_at(self, offset: int) -> Tag | None:
        """Return the tag that contains the character at an offset."""
        return next(iter(self.tags_at(Span(offset, offset + 1))), None)

    @property
    def has_content(self) -> bool:
        """Whether the chunk contains anything other than tags, comments and blank lines."""
        return _has_content(self)

    @property
    def has_printed_content(self) -> bool:
        """`has_content`, ignoring macros and `set` blocks, whose text is printed elsewhere."""
        return _has_printed_content(self)


Fact = TypeVar("Fact")
_MISSING: Final = object()


def chunk_fact(find: Callable[[Chunk], Fact]) -> Callable[[Chunk], Fact]:
    """Make a function of a chunk's text a fact of the chunk, which is computed once and cached in it."""

    @wraps(find)
    def fact(chunk: Chunk) -> Fact:
        reads = current.get()
        found = chunk.facts.get(find, _MISSING)
        if reads is None:
            if found is _MISSING:
                found = chunk.facts[find] = find(chunk)
            return found  # type: ignore[return-value]  # stored above
        reads.columns[fact] = None
        if found is _MISSING:
            found = chunk.facts[find] = unrecorded(find, chunk)
        return found  # type: ignore[return-value]  # stored above

    return fact


def fact_values(fact: Callable[[Chunk], Fact], chunks: Iterable[Chunk]) -> list[Fact]:
    """Return the values of a chunk fact, in the order of the chunks."""
    find = fact.__wrapped__  # type: ignore[attr-defined]  # set by `wraps`
    reads = current.get()
    if reads is not None:
        reads.columns[fact] = None
    return [
        known if (known := chunk.facts.get(find, _MISSING)) is not _MISSING else fact(chunk)  # type: ignore[misc]
        for chunk in chunks
    ]


def text_of(chunks: Iterable[Chunk]) -> str:
    """Return the text of adjacent chunks, without recording that it is read."""
    return "".join([chunk._text for chunk in chunks])  # noqa: SLF001 - `text` records the read


def set_fact(chunk: Chunk, fact: Callable[[Chunk], Fact], value: Fact) -> None:
    """Store the value of a chunk fact that was obtained in a different way."""
    chunk.facts[fact.__wrapped__] = value  # type: ignore[attr-defined]  # set by `wraps`


@chunk_fact
def _tag_edges(chunk: Chunk) -> tuple[list[int], list[int]]:
    return [tag.span.start for tag in chunk.tags], [tag.span.end for tag in chunk.tags]


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
        del printed[opened[0] :]  # an incomplete macro that no mapping follows
    return bool(_CONTENT.search(" ".join(printed)))


def _texts(chunk: Chunk) -> Iterator[tuple[Tag | None, str]]:
    """Yield the texts between tags and of raw blocks, each with the tag before it."""
    text = chunk.text
    position, before, comment_end = 0, None, -1
    for tag in chunk.tags:
        yield before, text[position : tag.span.start]
        before = tag
        if tag.kind == "raw":
            yield None, text[tag.body.start : tag.body.end]
        position = tag.span.end
        if tag.kind == "comment" and tag.unclosed:  # the rest of its line is meant to be the comment
            if comment_end < position:
                comment_end = line_end(text, position)
            position = comment_end
    yield before, text[position:]


def cut(text: str, *, at_items: bool) -> list[Chunk]:
    """Return the chunks of `text`, in order; there is at least one, and together they are the whole text.

    They end before list items in the first column; unless `at_items`, there is one chunk.
    """
    items = items_pattern(text)

    def next_item(offset: int) -> int:
        match = items.search(text, offset)
        return len(text) if match is None else match.start() + 1

    return cut_at(text, next_item if at_items else lambda _offset: len(text))


_NO_ROLES: Final[Mapping[int, Role]] = {}


def cut_at(text: str, next_start: Callable[[int], int], roles: Mapping[int, Role] = _NO_ROLES) -> list[Chunk]:
    """Return the chunks of `text`, cut at the offsets that `next_start` returns, except inside tags.

    `next_start` returns the next start after an offset, or the length of the text. `roles` are the roles of
    chunks by their start; the default is `BLOCK`.
    """
    chunks = []
    start = 0
    missing: set[re.Pattern[str]] = set()
    while True:
        found = scan(text, start, next_start=next_start, missing=missing)
        reach = UNSEEN if found.seen >= UNSEEN else max(0, found.seen - found.end)
        role = roles.get(start, Role.BLOCK)
        chunks.append(Chunk(text[start : found.end], found.tags, reach=reach, role=role))
        start = found.end
        if start >= len(text):
            return chunks


def join_chunks(chunks: Sequence[Chunk], role: Role | None = None) -> Chunk:
    """Return adjacent chunks joined into one, with the role of the first unless `role` is passed."""
    if len(chunks) == 1 and role is None:
        return chunks[0]
    tags: list[Tag] = []
    reached = end = 0
    for chunk in chunks:
        tags += [tag.shifted(end) for tag in chunk.tags]
        end += chunk.length
        reached = max(reached, end + chunk.reach)
    text = "".join([chunk.text for chunk in chunks])
    return Chunk(text, tuple(tags), reach=min(reached - end, UNSEEN), role=role or chunks[0].role)


_SERIALS: Final = count()
_MAX_STEPS: Final = 8
"""How many edits back facts of earlier versions can be reused."""
_MAX_STEP_CHARACTERS: Final = 100_000
"""How many characters of replaced chunks are retained for that, in addition to those of the last edit."""


class EditStep:
    """An edit between two versions of a file: at offset `start`, the chunks `new` replace the chunks `old`.

    `serial` identifies the version before the edit. `same` caches which facts of the chunks are the same
    before and after the edit.
    """

    __slots__ = ("growth", "keeps_lines", "new", "old", "same", "serial", "start")

    def __init__(self, serial: int, start: int, old: tuple[Chunk, ...], new: tuple[Chunk, ...]) -> None:
        self.serial: Final = serial
        self.start: Final = start
        self.old: Final = old
        self.new: Final = new
        self.growth: Final = sum(chunk.length for chunk in new) - sum(chunk.length for chunk in old)
        self.keeps_lines: Final = sum(chunk.line_ends for chunk in old) == sum(
            chunk.line_ends for chunk in new
        )
        self.same: Final[dict[object, bool]] = {}

    @property
    def edited(self) -> Span:
        """The span of the replaced chunks, before the edit."""
        return Span(self.start, self.start + sum(chunk.length for chunk in self.old))


class Memo(NamedTuple):
    """A cached value, the version of the file for which it is known to be valid, and what was read for it."""

    serial: int
    value: Any
    reads: Reads


class ChunkList:
    """At least one chunk, in order: one version of a file.

    `starts` and `first_lines` are where each chunk begins, `reaching` is the number of chunks that depend on
    text after them, and `steps` are the edits since earlier versions.
    `memos` are cached facts of the file, including some that were computed for earlier versions, and
    `facts` are cached for this version only (`promptls.syntax.facts`).
    """

    __slots__ = (
        "chunks",
        "facts",
        "first_lines",
        "length",
        "line_ends",
        "memos",
        "reaching",
        "serial",
        "starts",
        "steps",
    )

    def __init__(
        self,
        chunks: tuple[Chunk, ...],
        starts: list[int],
        first_lines: list[int],
        reaching: int,
        steps: tuple[EditStep, ...] = (),
        memos: dict[object, Memo] | None = None,
    ) -> None:
        self.chunks: Final = chunks
        self.serial: Final = next(_SERIALS)
        self.starts: Final = starts
        self.first_lines: Final = first_lines
        self.length: Final = starts[-1]
        self.line_ends: Final = first_lines[-1]
        self.reaching: Final = reaching
        self.facts: Final[dict[object, object]] = {}
        self.memos: Final[dict[object, Memo]] = {} if memos is None else memos
        self.steps: Final = steps

    @classmethod
    def of(cls, chunks: tuple[Chunk, ...]) -> ChunkList:
        """Return the first version of a file with these chunks."""
        starts = list(accumulate([chunk.length for chunk in chunks], initial=0))
        first_lines = list(accumulate([chunk.line_ends for chunk in chunks], initial=0))
        return cls(chunks, starts, first_lines, _reaching(chunks))

    @property
    def is_reaching(self) -> bool:
        """Whether a chunk depends on text after it."""
        return self.reaching > 0

    def steps_since(self, serial: int) -> tuple[EditStep, ...] | None:
        """Return the edits since the version with that serial number, or None if they are not known."""
        if serial == self.serial:
            return ()
        for index in range(len(self.steps) - 1, -1, -1):
            if self.steps[index].serial == serial:
                return self.steps[index:]
        return None

    def placed(self, index: int = 0) -> Iterator[Located]:
        """Yield the chunks from `index` on, in order."""
        for number in range(index, len(self.chunks)):
            yield Located(self.chunks[number], number, self.starts[number], self.first_lines[number])

    def at_index(self, index: int) -> Located:
        """Return the chunk at `index`, clamped to the valid range."""
        number = min(max(index, 0), len(self.chunks) - 1)
        return Located(self.chunks[number], number, self.starts[number], self.first_lines[number])

    def at_offset(self, offset: int) -> Located:
        """Return the chunk that contains `offset`, clamped to the text; at a boundary, the second chunk."""
        return self.at_index(bisect_right(self.starts, offset, 1, len(self.chunks)) - 1)

    def at_line(self, line: int) -> Located:
        """Return the chunk in which a line begins, clamped to the text."""
        return self.at_index(bisect_right(self.first_lines, line, 1, len(self.chunks)) - 1)

    def where(self, holds: Callable[[Piece], object]) -> Iterator[Located]:
        """Yield the chunks for which `holds` is true, in order; none if it is false for the whole list."""
        if holds(self):
            for located in self.placed():
                if holds(located.chunk):
                    yield located

    def replaced(self, first: int, last: int, fresh: tuple[Chunk, ...]) -> ChunkList:
        """Return the list with the chunks from index `first` to `last` (inclusive) replaced."""
        old = self.chunks[first : last + 1]
        step = EditStep(self.serial, self.starts[first], old, fresh)
        steps = [step]
        size = 0
        for earlier in reversed(self.steps):
            size += sum(chunk.length for chunk in earlier.old)
            if len(steps) == _MAX_STEPS or size > _MAX_STEP_CHARACTERS:
                break
            steps.insert(0, earlier)
        chunks = (*self.chunks[:first], *fresh, *self.chunks[last + 1 :])
        known = {self.serial, *(step.serial for step in steps)}
        memos = {fact: memo for fact, memo in self.memos.items() if memo.serial in known}
        starts = _splice(self.starts, first, last, [chunk.length for chunk in fresh])
        first_lines = _splice(self.first_lines, first, last, [chunk.line_ends for chunk in fresh])
        reaching = self.reaching - _reaching(old) + _reaching(fresh)
        return ChunkList(chunks, starts, first_lines, reaching, tuple(steps), memos)


def _reaching(chunks: Iterable[Chunk]) -> int:
    return sum(chunk.is_reaching for chunk in chunks)


def _splice(sums: list[int], first: int, last: int, sizes: list[int]) -> list[int]:
    """Return cumulative sums after the summands from index `first` to `last` were replaced by `sizes`."""
    fresh = list(accumulate(sizes, initial=sums[first]))
    growth = fresh[-1] - sums[last + 1]
    after = sums[last + 2 :]
    return [*sums[:first], *fresh, *(map(growth.__add__, after) if growth else after)]


Piece = Chunk | ChunkList


@dataclass(frozen=True, slots=True)
class Located:
    """A chunk and its location: its index, its start offset and its first line."""

    chunk: Chunk
    index: int
    start: int
    first_line: int

    def tag_at(self, offset: int) -> Tag | None:
        """Return the tag that contains the character at an offset of the file."""
        return self.chunk.tag_at(offset - self.start)
