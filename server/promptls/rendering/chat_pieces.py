"""The parts of a chat's prompts with their counts, each different one once. Runs in the worker's process."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from promptls.systems.prompt_poet.counts import count_part
from promptls.systems.prompt_poet.parts import PromptPart
from promptls.tokens.counting import count
from promptls.tokens.encodings import load
from promptls.truncation.turns import Piece


class ChatPieces:
    """Numbers the different parts of one chat's prompts, and keeps their texts."""

    def __init__(self, encoding: str) -> None:
        """Count in the encoding, or the model's encoding, of this name."""
        self._encoding = encoding
        self._numbers: dict[tuple[str, str, str, str], int] = {}
        self._pieces: list[Piece] = []
        self._texts: list[str] = []
        self._shared: dict[tuple[int, int], int] = {}

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces so far; a piece's number is its place."""
        return tuple(self._pieces)

    def turn(self, parts: Iterable[PromptPart]) -> tuple[int, ...]:
        """The numbers of a prompt's pieces; raises PromptPoetError for a part that cannot be counted."""
        return tuple(map(self._number, parts))

    def tokens(self, turn: Iterable[int]) -> int:
        """The tokens of a prompt with these pieces."""
        return sum(self._pieces[number].tokens for number in turn)

    def _number(self, part: PromptPart) -> int:
        role, name = str(part.role), str(part.name)
        key = (role, name, repr(part.truncation_priority), str(part.content))
        if (known := self._numbers.get(key)) is not None:
            return known
        counted = count_part(part, self._count, allow_token_overrides=True)
        self._pieces.append(Piece(name, role, counted.tokens, part.truncation_priority))
        self._texts.append(str(part.content))
        self._numbers[key] = number = len(self._pieces) - 1
        return number

    @property
    def _count(self) -> partial[int]:
        return partial(count, encoding=self._encoding)

    def shared_tokens(self, first: int, second: int) -> int:
        """How many tokens two pieces have in common from their first one."""
        key = (min(first, second), max(first, second))
        if key not in self._shared:
            self._shared[key] = self._common(self._texts[first], self._texts[second])
        return self._shared[key]

    def _common(self, first: str, second: str) -> int:
        encoding = load(self._encoding)
        ones, others = encoding.encode_ordinary(first), encoding.encode_ordinary(second)
        different = (
            place for place, (one, other) in enumerate(zip(ones, others, strict=False)) if one != other
        )
        return next(different, min(len(ones), len(others)))
