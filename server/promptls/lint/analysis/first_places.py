"""What is said once of each subject in a file, at its first place, however often it stands there.

Hints about a habit would otherwise cover the file. Where a rule's severity is set higher than a
hint, or the file silences it somewhere, every place counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from promptls.lint.analysis.suppression import silenced
from promptls.lint.rule import FileContext
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.chunk_list import ChunkList
from promptls.syntax.facts import summary

Item = TypeVar("Item")
Subject = TypeVar("Subject", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Noticed(Generic[Item]):
    """One thing noticed in the chunk that begins at offset `start`, and how many more are left unsaid."""

    chunk: Chunk
    start: int
    item: Item
    others: int

    def and_others(self, one: str, many: str) -> str:
        """Return the end of a message that counts what is left unsaid, or nothing."""
        if not self.others:
            return ""
        return f", and {self.others} more {one if self.others == 1 else many} in this file"


class _Places(NamedTuple):
    """How often a subject stands in a piece, and the number of the child that has its first place."""

    times: int
    first: int


class FirstPlaces(Generic[Subject, Item]):
    """The things of one rule, noticed in each chunk by itself and counted for the pieces of a file.

    `in_chunk` gives the things in a chunk in order, each with its subject and how many it counts for.
    """

    def __init__(
        self,
        rule: str,
        in_chunk: Callable[[Chunk], Iterator[tuple[Subject, Item, int]]],
    ) -> None:
        self._rule: Final = rule
        self._things: Final = chunk_fact(lambda chunk: tuple(in_chunk(chunk)))
        self._counts: Final = summary(self._counted, _summed)

    def noticed(
        self,
        context: FileContext,
        *,
        about: Callable[[Subject], bool] | None = None,
        every: bool = False,
    ) -> Iterator[Noticed[Item]]:
        """Yield the first thing of each subject that it is asked `about`.

        All things where the settings, the file or `every` ask for them.
        """
        source = context.template.source
        counts = self._counts(source.root)
        if not counts:
            return
        chosen = context.project.rules.get(self._rule, "hint")
        if every or chosen != "hint" or silenced(source).speaks_of(self._rule):
            for located in source.root.where(self._counts):
                for subject, item, _ in self._things(located.chunk):
                    if about is None or about(subject):
                        yield Noticed(located.chunk, located.start, item, 0)
            return
        for subject, places in counts.items():
            if about is None or about(subject):
                yield self._first(source.root, subject, places.times)

    def _first(self, root: ChunkList, subject: Subject, count: int) -> Noticed[Item]:
        located = root.at_index(self._counts(root)[subject].first)
        item, weight = next((i, n) for known, i, n in self._things(located.chunk) if known == subject)
        return Noticed(located.chunk, located.start, item, count - weight)

    def _counted(self, chunk: Chunk) -> dict[Subject, _Places]:
        found: dict[Subject, int] = {}
        for subject, _, number in self._things(chunk):
            found[subject] = found.get(subject, 0) + number
        return {subject: _Places(count, 0) for subject, count in found.items()}


def _summed(counts: list[dict[Subject, _Places]]) -> dict[Subject, _Places]:
    found: dict[Subject, _Places] = {}
    for child, each in enumerate(counts):
        for subject, (times, _) in each.items():
            known = found.get(subject)
            found[subject] = (
                _Places(times, child) if known is None else _Places(known.times + times, known.first)
            )
    return found
