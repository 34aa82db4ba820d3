"""The prompts of a growing chat, turn by turn, as input for truncation and the prefix cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Piece(NamedTuple):
    """One part of a prompt: parts with the same role and text are the same piece in every turn."""

    name: str
    role: str
    tokens: int
    priority: Any
    """The part's `truncation_priority`."""


SharedTokens: TypeAlias = Callable[[int, int], int]
"""A function that returns the number of leading tokens that two pieces, by index, have in common."""


@dataclass(frozen=True, slots=True)
class Chat:
    """The prompts of one chat. A turn is a sequence of piece indices, in the prompt's order."""

    name: str
    """The origin of the chat: `row 3`, or the sample's name."""
    source: str
    """The file of the origin, as shown to users."""
    generated: int
    """The number of turns at the end that were generated because the data has no more messages."""
    pieces: tuple[Piece, ...]
    turns: tuple[tuple[int, ...], ...]

    def tokens(self, turn: Sequence[int]) -> int:
        """Return the number of tokens of a prompt with these pieces."""
        return sum(self.pieces[number].tokens for number in turn)


def may_go(priority: Any) -> bool:
    """Return whether truncation may remove a part with this `truncation_priority`."""
    return isinstance(priority, int | float) and priority > 0
