"""The random choice of scenarios: even over the nodes, and the same for the same seed."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random
from typing import NamedTuple, TypeVar

from promptls.generation.graph import Node
from promptls.generation.scenario import LENGTHS, PERSONAS, STYLES, Persona, Scenario

Item = TypeVar("Item")


class Group(NamedTuple):
    """Nodes that one query can be about together, and what it may be about."""

    nodes: tuple[Node, ...]
    themes: tuple[str, ...]


class Draw:
    """Chooses groups and ways to ask; what it has chosen once comes again only after everything else."""

    def __init__(
        self,
        seed: int = 0,
        *,
        personas: Sequence[Persona] = PERSONAS,
        styles: Sequence[str] = tuple(STYLES),
        lengths: Sequence[str] = tuple(LENGTHS),
    ) -> None:
        """A choice that follows from the seed, among all of these."""
        self._random = Random(seed)  # noqa: S311 - nothing is to be kept secret
        self._ways = self._dealt([*product(personas, styles, lengths)])
        self._used: Counter[str] = Counter()
        self._taken: set[tuple[str, tuple[Node, ...], str]] = set()

    def take(self, synthesizer: str, groups: Sequence[Group], count: int) -> list[Scenario]:
        """So many scenarios, or as many as there are themes of groups that were not taken before.

        The next group is the one whose nodes were taken least, by any synthesizer.
        """
        themes = [
            self._shuffled(
                theme
                for theme in dict.fromkeys(group.themes)
                if (synthesizer, group.nodes, theme) not in self._taken
            )
            for group in groups
        ]
        order = self._shuffled(range(len(groups)))
        waiting = [(self._use(groups[index]), 0, place, index) for place, index in enumerate(order)]
        heapq.heapify(waiting)
        found: list[Scenario] = []
        while waiting and len(found) < count:
            use, times, place, index = heapq.heappop(waiting)
            group = groups[index]
            if times >= len(themes[index]):
                continue
            if (now := self._use(group)) > use:
                # Another group or synthesizer has taken one of its nodes since it was put here.
                heapq.heappush(waiting, (now, times, place, index))
                continue
            persona, style, length = next(self._ways)
            theme = themes[index][times]
            found.append(Scenario(synthesizer, group.nodes, theme, persona, style, length))
            self._taken.add((synthesizer, group.nodes, theme))
            self._used.update(node.id for node in group.nodes)
            heapq.heappush(waiting, (self._use(group), times + 1, place, index))
        return found

    def _use(self, group: Group) -> float:
        return sum(self._used[node.id] for node in group.nodes) / max(len(group.nodes), 1)

    def _shuffled(self, items: Iterable[Item]) -> list[Item]:
        found = list(items)
        self._random.shuffle(found)
        return found

    def _dealt(self, ways: list[tuple[Persona, str, str]]) -> Iterator[tuple[Persona, str, str]]:
        """The ways in a random order, again and again."""
        while True:
            self._random.shuffle(ways)
            yield from list(ways)
