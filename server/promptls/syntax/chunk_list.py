"""The ordered chunks of a file, and the edits that led to them.

An edit replaces a few chunks and shares all others, with everything that is cached for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from typing import Any, Final, NamedTuple

from promptls.facts.reads import Reads
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_SERIALS: Final = count()
_MAX_STEPS: Final = 8
"""How many edits back facts of earlier versions can be reused."""
_MAX_STEP_CHARACTERS: Final = 100_000
"""How many characters of replaced chunks are retained for that, in addition to those of the last edit."""


class Step:
    """An edit between two versions of a file: at offset `start`, the chunks `new` replace the chunks `old`.

    `serial` identifies the version before the edit. `same` caches which facts of the chunks are known to be
    the same before and after the edit, and which are not.
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

    `starts` and `first_lines` are where each chunk begins, and `steps` are the edits since earlier versions.
    `memos` are cached facts of the file, including some that were computed for earlier versions, and
    `facts` are cached for this version only (`promptls.syntax.facts`).
    """

    __slots__ = (
        "chunks",
        "facts",
        "first_lines",
        "is_reaching",
        "length",
        "line_ends",
        "memos",
        "serial",
        "starts",
        "steps",
    )

    def __init__(
        self,
        chunks: tuple[Chunk, ...],
        steps: tuple[Step, ...] = (),
        memos: dict[object, Memo] | None = None,
    ) -> None:
        self.chunks: Final = chunks
        self.serial: Final = next(_SERIALS)
        self.starts: Final = list(accumulate([chunk.length for chunk in chunks], initial=0))
        self.first_lines: Final = list(accumulate([chunk.line_ends for chunk in chunks], initial=0))
        self.length: Final[int] = self.starts[-1]
        self.line_ends: Final[int] = self.first_lines[-1]
        self.is_reaching: Final[bool] = any(chunk.reach for chunk in chunks)
        self.facts: Final[dict[object, object]] = {}
        self.memos: Final[dict[object, Memo]] = {} if memos is None else memos
        self.steps: Final = steps

    def steps_since(self, serial: int) -> tuple[Step, ...] | None:
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
        step = Step(self.serial, self.starts[first], old, fresh)
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
        return ChunkList(chunks, tuple(steps), memos)


Piece = Chunk | ChunkList


@dataclass(frozen=True, slots=True)
class Located:
    """A chunk and its location: its index, its start offset and its first line."""

    chunk: Chunk
    index: int
    start: int
    first_line: int
