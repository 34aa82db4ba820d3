"""The prompts of a growing chat, turn by turn, as truncation and a prefix cache see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Piece(NamedTuple):
    """One part of a prompt: parts with the same role and text are the same piece, whatever the turn."""

    name: str
    role: str
    tokens: int
    priority: Any
    """Its `truncation_priority`."""


SharedTokens: TypeAlias = Callable[[int, int], int]
"""How many tokens two pieces have in common from their first one; pieces by their numbers."""


@dataclass(frozen=True, slots=True)
class Chat:
    """The prompts of one chat. A turn is the numbers of its pieces, in the prompt's order."""

    name: str
    """What the chat comes from: `row 3`, or the sample's name."""
    source: str
    """Where that is, as people say it."""
    generated: int
    """How many turns, the last ones, were made up because the data has no more."""
    pieces: tuple[Piece, ...]
    turns: tuple[tuple[int, ...], ...]

    def tokens(self, turn: Sequence[int]) -> int:
        """Return the tokens of a prompt with these pieces."""
        return sum(self.pieces[number].tokens for number in turn)


def may_go(priority: Any) -> bool:
    """Return whether truncation may remove a part of this `truncation_priority`."""
    return isinstance(priority, int | float) and priority > 0
