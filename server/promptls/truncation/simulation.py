"""A growing chat under a limit and a step: what each turn keeps, loses, and reads from a prefix cache."""

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
    """The places, from 0, of the parts that the model gets."""
    tokens: int
    """Tokens of the kept parts."""
    cached: int
    """How many of them are read from the cache; 0 in the first turn."""
    lost: int
    """Tokens of the removed parts."""
    excess: int
    """Tokens over the limit before truncation: what had to be removed."""
    failure: str | None = None
    """Why Prompt Poet refuses to truncate this turn; the prompt is whole then."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """All turns of a chat under one limit and step."""

    turns: tuple[TurnResult, ...]
    breaks: int
    """The turns in which other parts were removed than in the turn before, so that the cache starts again."""

    @property
    def later(self) -> tuple[TurnResult, ...]:
        """The turns that have one before them, and so a cache to read from."""
        return self.turns[1:]

    @property
    def cache_rate(self) -> float:
        """The share of the prompts' tokens, from the second turn on, that is read from the cache."""
        return _share(sum(turn.cached for turn in self.later), sum(turn.tokens for turn in self.later))

    @property
    def kept_rate(self) -> float:
        """The share of what fits under the limit that is kept, over all turns."""
        fits = sum(turn.tokens + turn.lost - turn.excess for turn in self.turns)
        return _share(sum(turn.tokens for turn in self.turns), fits)

    @property
    def needless(self) -> int:
        """Tokens that were removed though they would have fitted, over all turns."""
        return sum(max(0, turn.lost - turn.excess) for turn in self.turns)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why turns cannot be truncated, each reason once."""
        return tuple(dict.fromkeys(turn.failure for turn in self.turns if turn.failure))


def simulate(
    chat: Chat, limit: int, step: int | None, cache: PrefixCache, shared_tokens: SharedTokens
) -> Simulation:
    """Return what Prompt Poet's truncation makes of each turn; a `limit` of -1 truncates nothing."""
    turns: list[TurnResult] = []
    before: tuple[int, ...] = ()
    removed_before: tuple[int, ...] = ()
    breaks = 0
    for pieces in chat.turns:
        kept, removed, failure = _truncated(chat, pieces, limit, step)
        now = tuple(pieces[place] for place in kept)
        tokens, total = chat.tokens(now), chat.tokens(pieces)
        shared = shared_prefix(chat.pieces, before, now, shared_tokens)
        excess = 0 if failure or limit == NO_LIMIT else max(0, total - limit)
        turns.append(TurnResult(kept, tokens, cache.readable(shared), total - tokens, excess, failure))
        gone = tuple(pieces[place] for place in removed)
        breaks += gone != removed_before
        before, removed_before = now, gone
    return Simulation(tuple(turns), breaks)


def _truncated(
    chat: Chat, pieces: Sequence[int], limit: int, step: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], str | None]:
    """Return the places of the kept and of the removed parts.

    Where Prompt Poet fails, all are kept, and why.
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
