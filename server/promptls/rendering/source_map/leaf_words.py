"""The turns and the data of leaves in words, quickly: a large text has hundreds of thousands of leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptls.rendering.source_map.data_paths import DataPaths, chain_of, written
from promptls.rendering.source_map.pieces import Leaf, Turn

_MOST_TURNS: Final = 8
"""How many turns are told; a recursive loop can be in hundreds."""
_NO_TURN: Final[Turn] = (None,)


def turns_words(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Turns in words, the outermost first; of very many, those at both ends."""
    words = tuple([f"turn {number} of `{file.sites[site].words}`" for _, file, site, number, _ in turns])
    if len(words) <= _MOST_TURNS:
        return words
    return *words[:2], f"… {len(words) - 4} more …", *words[-2:]


class LeafWords:
    """Tells leaves one after the other, and remembers the turn of the one before."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Look in `data`, as the template saw it."""
        self._paths = DataPaths(data)
        self._turn = self._told = _NO_TURN
        self._item: str | None = None
        """The data path of the item of `_turn`."""
        self._words: tuple[str, ...] = ()
        """The turns in words up to `_told`."""
        self._around: Turn | None = _NO_TURN
        self._around_words: tuple[str, ...] = ()

    def turns(self, turn: Turn | None) -> tuple[str, ...]:
        """A turn with those around it in words."""
        if turn is None:
            return ()
        if turn is not self._told:
            outer, file, site, number, _ = turn
            if outer is not self._around:
                self._around, self._around_words = (
                    outer,
                    () if outer is None else turns_words(chain_of(outer)),
                )
            if len(self._around_words) + 1 < _MOST_TURNS:
                self._words = (*self._around_words, f"turn {number} of `{file.sites[site].words}`")
            else:
                self._words = turns_words(chain_of(turn))
            self._told = turn
        return self._words

    def data_path(self, leaf: Leaf) -> str | None:
        """Which data were printed; several with a comma in between."""
        file, turn, site = leaf.file, leaf.turn, leaf.site
        if turn is not None and not leaf.outer and file is not None and site is not None:
            expression = file.sites[site].expression
            targets = turn[1].sites[turn[2]].targets
            item = turn[4]
            if expression == targets:
                if item is leaf.value and (words := self._item_of(turn)) is not None:
                    return words
            elif type(expression) is tuple and expression[0] == "." and expression[1] == targets:
                key = expression[2]
                is_there = type(item) is dict and type(key) is str and item.get(key, item) is leaf.value
                if is_there and (words := self._item_of(turn)) is not None:
                    return f"{words}.{key}" if key.isidentifier() else f"{words}[{key!r}]"
        return ", ".join(map(written, self._paths.of(leaf))) or None

    def _item_of(self, turn: Turn) -> str | None:
        if turn is not self._turn:
            self._item = self._paths.item_words(turn)
            self._turn = turn
        return self._item
