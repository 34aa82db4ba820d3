"""What is said once of each subject in a file, at its first place, however often it stands there.

Hints about a habit would otherwise cover the file. Where a rule's severity is set higher than a
hint, or the file silences it somewhere, every place counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from promptls.rules.rule import FileContext
from promptls.rules.suppression import suppressed_lines
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, Piece, chunks_where

Item = TypeVar("Item")


class Noticed(NamedTuple, Generic[Item]):
    """One thing noticed in the chunk that begins at offset `start`, and how many more are left unsaid."""

    chunk: Chunk
    start: int
    item: Item
    others: int

    def and_others(self, one: str, many: str) -> str:
        """The end of a message that counts what is left unsaid, or nothing."""
        if not self.others:
            return ""
        return f", and {self.others} more {one if self.others == 1 else many} in this file"


class FirstPlaces(Generic[Item]):
    """The things of one rule, noticed in each chunk by itself and kept with the pieces of a file.

    `in_chunk` gives the things in a chunk in order, each with its subject and how many it counts for.
    """

    def __init__(self, rule: str, in_chunk: Callable[[Chunk], Iterator[tuple[str, Item, int]]]) -> None:
        self._rule: Final = rule
        self._in_chunk: Final = in_chunk

    def noticed(self, context: FileContext, *, every: bool = False) -> Iterator[Noticed[Item]]:
        """The first thing of each subject; all of them where the settings, the file or `every` ask for it."""
        source = context.template.source
        subjects = self._subjects(source.root)
        if not subjects:
            return
        chosen = context.project.rules.get(self._rule, "hint")
        if (
            every
            or chosen != "hint"
            or any(self._rule in names for names in suppressed_lines(source).values())
        ):
            for located in chunks_where(source.root, self._subjects):
                for _, item, _ in self._things(located.chunk):
                    yield Noticed(located.chunk, located.start, item, 0)
            return
        yield from subjects.values()

    def _things(self, chunk: Chunk) -> tuple[tuple[str, Item, int], ...]:
        known = chunk.kept.get(self)
        if known is None:
            known = chunk.kept[self] = tuple(self._in_chunk(chunk))
        return known  # type: ignore[return-value]  # put there above

    def _subjects(self, piece: Piece) -> dict[str, Noticed[Item]]:
        """The first thing of each subject in a piece; offsets count from the piece's start."""
        key = (self, "subjects")
        known = piece.kept.get(key)
        if known is None:
            known = piece.kept[key] = self._of_group(piece) if isinstance(piece, Group) else self._of(piece)
        return known  # type: ignore[return-value]  # put there above

    def _of(self, chunk: Chunk) -> dict[str, Noticed[Item]]:
        found: dict[str, Noticed[Item]] = {}
        for subject, item, number in self._things(chunk):
            known = found.get(subject)
            if known is None:
                found[subject] = Noticed(chunk, 0, item, 0)
            else:
                found[subject] = known._replace(others=known.others + number)
        return found

    def _of_group(self, group: Group) -> dict[str, Noticed[Item]]:
        found: dict[str, Noticed[Item]] = {}
        weights: dict[str, int] = {}
        children: tuple[Piece, ...] = group.children
        for start, child in zip(group.starts, children, strict=False):
            for subject, first in self._subjects(child).items():
                if subject not in found:
                    found[subject] = first if not start else first._replace(start=first.start + start)
                else:
                    more = first.others + self._weight(first, subject)
                    weights[subject] = weights.get(subject, 0) + more
        for subject, more in weights.items():
            found[subject] = found[subject]._replace(others=found[subject].others + more)
        return found

    def _weight(self, noticed: Noticed[Item], subject: str) -> int:
        """For how many places the first thing of a subject counts."""
        return next(number for name, _, number in self._things(noticed.chunk) if name == subject)
