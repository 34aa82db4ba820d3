"""Simulates a growing chat under a limit and a step: the removed, retained and cached tokens of each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.truncation import NO_LIMIT, truncate
from promptls.truncation.prefix_cache import PrefixCache, shared_prefix
from promptls.truncation.turns import Chat, SharedTokens


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One turn's prompt after truncation."""

    kept: tuple[int, ...]
    """The indices of the parts that the model receives."""
    tokens: int
    """The number of tokens in these parts."""
    cached: int
    """The number of tokens read from the cache; 0 in the first turn."""
    lost: int
    """The number of tokens in the removed parts."""
    excess: int
    """The number of tokens over the limit before truncation."""
    failure: str | None = None
    """The reason why Prompt Poet fails to truncate this turn; the prompt is complete then."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """All turns of a chat under one limit and step."""

    turns: tuple[TurnResult, ...]
    breaks: int
    """The number of turns in which different parts were removed than in the previous turn.

    In such a turn, the cache starts over.
    """

    @property
    def later(self) -> tuple[TurnResult, ...]:
        """The turns after the first, which can read from the cache."""
        return self.turns[1:]

    @property
    def cache_rate(self) -> float:
        """The share of the prompts' tokens read from the cache, from the second turn on."""
        return _share(sum(turn.cached for turn in self.later), sum(turn.tokens for turn in self.later))

    @property
    def kept_rate(self) -> float:
        """The share of the tokens that fit under the limit that is retained, over all turns."""
        fits = sum(turn.tokens + turn.lost - turn.excess for turn in self.turns)
        return _share(sum(turn.tokens for turn in self.turns), fits)

    @property
    def needless(self) -> int:
        """The number of removed tokens that would have fitted, over all turns."""
        return sum(max(0, turn.lost - turn.excess) for turn in self.turns)

    @property
    def failures(self) -> tuple[str, ...]:
        """The distinct reasons why turns cannot be truncated."""
        return tuple(dict.fromkeys(turn.failure for turn in self.turns if turn.failure))


def simulate(
    chat: Chat, limit: int, step: int | None, cache: PrefixCache, shared_tokens: SharedTokens
) -> Simulation:
    """Simulate Prompt Poet's truncation of each turn; a `limit` of -1 disables truncation."""
    turns: list[TurnResult] = []
    before: tuple[int, ...] = ()
    removed_before: tuple[int, ...] = ()
    breaks = 0
    for pieces in chat.turns:
        retained, removed, failure = _truncated(chat, pieces, limit, step)
        now = tuple(pieces[place] for place in retained)
        tokens, total = chat.tokens(now), chat.tokens(pieces)
        shared = shared_prefix(chat.pieces, before, now, shared_tokens)
        excess = 0 if failure or limit == NO_LIMIT else max(0, total - limit)
        turns.append(TurnResult(retained, tokens, cache.readable(shared), total - tokens, excess, failure))
        removed_pieces = tuple(pieces[place] for place in removed)
        breaks += removed_pieces != removed_before
        before, removed_before = now, removed_pieces
    return Simulation(tuple(turns), breaks)


def _truncated(
    chat: Chat, pieces: Sequence[int], limit: int, step: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], str | None]:
    """Return the indices of the retained and the removed parts, and the reason of a failure.

    If Prompt Poet fails, all parts are retained.
    """
    priorities = [chat.pieces[number].priority for number in pieces]
    tokens = [chat.pieces[number].tokens for number in pieces]
    try:
        result = truncate(priorities, tokens, limit, step)
    except PromptPoetError as error:
        return tuple(range(len(pieces))), (), error.message
    return result.kept, result.removed, None


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
