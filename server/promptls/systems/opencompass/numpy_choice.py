"""Random choices as NumPy's legacy generator makes them, without NumPy.

Source: `numpy.random.seed` and `numpy.random.choice(…, replace=False)`, whose results are fixed
for a seed in every release.
"""

from __future__ import annotations

import random
from typing import Final

_WORDS: Final = 624
_MASK: Final = 0xFFFFFFFF


class LegacyChoice:
    """Draws without replacement, one after the other, from one seed."""

    def __init__(self, seed: int) -> None:
        """Begin as `numpy.random.seed(seed)` does; `seed` is in 0 … 2**32 - 1."""
        state = [seed & _MASK]
        for place in range(1, _WORDS):
            before = state[-1]
            state.append((1812433253 * (before ^ (before >> 30)) + place) & _MASK)
        self._words = random.Random()  # noqa: S311 - it is the generator that NumPy uses
        self._words.setstate((3, (*state, _WORDS), None))

    def draw(self, population: int, count: int) -> list[int]:
        """`count` different numbers below `population`, as they are drawn; raises ValueError for too many."""
        if count > population:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        order = list(range(population))
        for place in range(population - 1, 0, -1):
            other = self._at_most(place)
            order[place], order[other] = order[other], order[place]
        return order[:count]

    def _at_most(self, limit: int) -> int:
        bits = (1 << limit.bit_length()) - 1
        while (word := self._words.getrandbits(32) & bits) > limit:
            pass
        return word
