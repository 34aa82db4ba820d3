"""The best step under a limit, with the reason in words.

A large step lets the beginning of the prompt stand for more turns, so that more of it is read from
the cache; it also removes more of the chat than had to go. A point of either counts the same: the
best step is the one whose cache rate and kept share are highest together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from promptls.text.counted import counted
from promptls.truncation.prefix_cache import PrefixCache
from promptls.truncation.simulation import Simulation

_NO_BETTER: Final = 0.005
"""Scores that differ by less are the same: then the smaller step is the better one."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One limit and step over all chats."""

    limit: int
    step: int
    simulations: tuple[Simulation, ...]

    @property
    def cache_rate(self) -> float:
        """The share of the tokens, from each chat's second turn on, that is read from the cache."""
        later = [turn for each in self.simulations for turn in each.later]
        return share(sum(turn.cached for turn in later), sum(turn.tokens for turn in later))

    @property
    def kept_rate(self) -> float:
        """The share of what fits under the limit that is kept."""
        turns = [turn for each in self.simulations for turn in each.turns]
        fits = sum(turn.tokens + turn.lost - turn.excess for turn in turns)
        return share(sum(turn.tokens for turn in turns), fits)

    @property
    def score(self) -> float:
        """The higher, the better."""
        return self.cache_rate + self.kept_rate

    @property
    def lost(self) -> int:
        """Tokens removed, all turns together."""
        return sum(turn.lost for each in self.simulations for turn in each.turns)

    @property
    def needless(self) -> int:
        """How many of them would have fitted."""
        return sum(max(0, turn.lost - turn.excess) for each in self.simulations for turn in each.turns)

    @property
    def breaks(self) -> int:
        """Turns in which other parts are removed than in the turn before."""
        return sum(each.breaks for each in self.simulations)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why turns cannot be truncated, each reason once."""
        return tuple(
            dict.fromkeys(turn.failure for each in self.simulations for turn in each.turns if turn.failure)
        )


@dataclass(frozen=True, slots=True)
class Best:
    """The best step under a limit; None where none is better than another."""

    limit: int
    step: int | None
    reason: str


def share(part: float, whole: float) -> float:
    """What `part` is of `whole`; 0 of nothing."""
    return part / whole if whole else 0.0


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The best of trials under one limit, which come with the smallest step first."""
    best = trials[0]
    for trial in trials[1:]:
        if trial.score > best.score + _NO_BETTER:
            best = trial
    return best


def advise(trials: Sequence[Trial], uncut: float, cache: PrefixCache, present: int | None) -> Best:
    """The best step of trials under one limit, which come with the smallest step first.

    `uncut` is the cache rate of the same chats where nothing is removed; `present` the present step,
    with which the reason compares.
    """
    least = trials[0]
    limit = least.limit
    failures = least.failures
    if failures:
        return Best(limit, None, f"Some turns cannot be cut to {limit:,} tokens. {failures[0]}")
    if not least.lost:
        return Best(limit, None, f"The chat never reaches {limit:,} tokens, so that any step does.")
    best = best_trial(trials)
    at_all = max(trial.cache_rate for trial in trials)
    if at_all <= least.cache_rate + _NO_BETTER:
        return Best(limit, least.step, _no_gain(least, uncut, cache))
    other = next((trial for trial in trials if trial.step == present), least)
    if best is other:
        return Best(
            limit,
            best.step,
            f"A step of {counted(best.step, 'token')} serves best: {best.cache_rate:.0%} of the prompts "
            f"is read from the cache, and {best.kept_rate:.0%} of what fits is kept.",
        )
    turns = sum(len(each.turns) for each in best.simulations)
    return Best(limit, best.step, _compared(best, other, turns))


def _compared(best: Trial, other: Trial, turns: int) -> str:
    """What the best step gains and costs beside another one."""
    step, others = counted(best.step, "token"), counted(other.step, "token")
    if best.score <= other.score + _NO_BETTER:
        return (
            f"A step of {step} serves as well as one of {others}: {best.cache_rate:.0%} of the prompts is "
            f"read from the cache and {best.kept_rate:.0%} of what fits is kept, with the other "
            f"{other.cache_rate:.0%} and {other.kept_rate:.0%}."
        )
    if best.cache_rate <= other.cache_rate + _NO_BETTER:
        return (
            f"With a step of {step}, {best.kept_rate:.0%} of what fits is kept, where a step of {others} "
            f"keeps {other.kept_rate:.0%}; {best.cache_rate:.0%} of the prompts is read from the cache, "
            f"with the other {other.cache_rate:.0%}."
        )
    cost = (best.needless - other.needless) // max(turns, 1)
    price = (
        f"It costs {counted(cost, 'token')} of the chat a turn"
        if cost > 0
        else "It costs nothing of the chat"
    )
    changes = "with both" if best.breaks == other.breaks else f"not in {other.breaks:,}"
    return (
        f"With a step of {step}, {best.cache_rate:.0%} of the prompts is read from "
        f"the cache, where a step of {others} reads {other.cache_rate:.0%}: "
        f"the beginning changes in {best.breaks:,} of {turns:,} turns, {changes}. {price}; "
        f"{best.kept_rate:.0%} of what fits is kept."
    )


def _no_gain(least: Trial, uncut: float, cache: PrefixCache) -> str:
    if uncut <= least.cache_rate + _NO_BETTER and uncut < _STABLE:
        why = "the prompt's beginning differs from turn to turn ahead of what is cut"
    elif least.limit < cache.least:
        why = f"this cache keeps a beginning {cache.words} only"
    else:
        why = "what is cut does not stand ahead of what could be read"
    return (
        f"No step raises the cache rate of {least.cache_rate:.0%}, because {why}. "
        f"The smallest step loses the least of the chat."
    )


_STABLE: Final = 0.5
"""A chat that loses nothing and is still read from the cache less than this has an unstable beginning."""
