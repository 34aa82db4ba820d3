"""The truncation lab: simulates every step under every limit over all chats, and finds the best one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT
from promptls.text.format import lower_first, plural
from promptls.truncation.lab_report import BestJson, CellJson, ChatJson, PieceJson, TurnsJson, UnstableJson
from promptls.truncation.prefix_cache import Chat, Piece, PrefixCache, SharedTokens, may_go
from promptls.truncation.simulation import Simulation, simulate

STEP_SHARES: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75)
"""The steps to try, as shares of the limit, in addition to a step of 1 token."""
LIMIT_SHARES: Final = (0.5, 0.75, 1.0, 1.5, 2.0)
"""The limits to try, as shares of the current one."""
LENGTH_SHARES: Final = (0.25, 0.5, 0.75)
"""The limits to try without a current one, as shares of the chat's longest prompt."""
_DIGITS: Final = 2


def candidate_steps(limit: int, present: int | None) -> tuple[int, ...]:
    """Return the steps to try under a limit, in ascending order: 1, rounded shares of it, the current one."""
    shares = (round_limit(limit * share) for share in STEP_SHARES)
    return _unique((1, *shares, *([present] if present else [])))


def candidate_limits(present: int | None, longest: int) -> tuple[int, ...]:
    """Return the limits to try in ascending order, for a chat whose longest prompt has `longest` tokens.

    Limits that the chat never reaches are left out, except for the current one.
    """
    if present is None:
        return _unique(round_limit(longest * share) for share in LENGTH_SHARES)
    tried = (present if share == 1 else round_limit(present * share) for share in LIMIT_SHARES)
    return _unique(limit for limit in tried if limit == present or limit < longest)


def round_limit(number: float) -> int:
    """Return the number rounded to two significant digits, as people write limits; at least 1."""
    whole = max(1, round(number))
    return round(whole, -max(0, len(str(whole)) - _DIGITS))


def _unique(numbers: Iterable[int]) -> tuple[int, ...]:
    found: Sequence[int] = sorted(set(numbers))
    return tuple(found)


_MIN_DIFFERENCE: Final = 0.005
"""Scores that differ by less are considered equal: the smaller step is preferred then."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One limit and step over all chats."""

    limit: int
    step: int
    simulations: tuple[Simulation, ...]

    @property
    def cache_rate(self) -> float:
        """The share of tokens read from the cache, from each chat's second turn on."""
        later = [turn for each in self.simulations for turn in each.later]
        return share(sum(turn.cached for turn in later), sum(turn.tokens for turn in later))

    @property
    def kept_rate(self) -> float:
        """The share of the tokens that fit under the limit that is not removed."""
        turns = [turn for each in self.simulations for turn in each.turns]
        fits = sum(turn.tokens + turn.lost - turn.excess for turn in turns)
        return share(sum(turn.tokens for turn in turns), fits)

    @property
    def score(self) -> float:
        """The score of the trial; higher is better."""
        return self.cache_rate + self.kept_rate

    @property
    def lost(self) -> int:
        """The number of tokens removed over all turns."""
        return sum(turn.lost for each in self.simulations for turn in each.turns)

    @property
    def needless(self) -> int:
        """The number of removed tokens that would have fitted."""
        return sum(max(0, turn.lost - turn.excess) for each in self.simulations for turn in each.turns)

    @property
    def breaks(self) -> int:
        """The number of turns in which different parts are removed than in the previous turn."""
        return sum(each.breaks for each in self.simulations)

    @property
    def failures(self) -> tuple[str, ...]:
        """The distinct reasons why turns cannot be truncated."""
        return tuple(
            dict.fromkeys(turn.failure for each in self.simulations for turn in each.turns if turn.failure)
        )


@dataclass(frozen=True, slots=True)
class Best:
    """The best step under a limit; None if nothing is removed, or if some turns cannot be truncated."""

    limit: int
    step: int | None
    reason: str


def share(part: float, whole: float) -> float:
    """Return the ratio of `part` to `whole`; 0 if `whole` is 0."""
    return part / whole if whole else 0.0


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the best of the trials under one limit, which are in ascending order of steps."""
    best = trials[0]
    for trial in trials[1:]:
        if trial.score > best.score + _MIN_DIFFERENCE:
            best = trial
    return best


def advise(trials: Sequence[Trial], uncut: float, cache: PrefixCache, present: int | None) -> Best:
    """Return the best step among the trials under one limit, which are in ascending order of steps.

    `uncut` is the cache rate of the same chats without truncation; `present` is the current step, which the
    reason compares with the best one.
    """
    smallest = trials[0]
    limit = smallest.limit
    failures = smallest.failures
    if failures:
        return Best(limit, None, f"Some turns cannot be cut to {limit:,} tokens. {failures[0]}")
    if not smallest.lost:
        return Best(limit, None, f"The chat never reaches {limit:,} tokens, so that any step does.")
    best = best_trial(trials)
    max_rate = max(trial.cache_rate for trial in trials)
    if max_rate <= smallest.cache_rate + _MIN_DIFFERENCE:
        return Best(limit, smallest.step, _no_gain(smallest, uncut, cache))
    other = next((trial for trial in trials if trial.step == present), smallest)
    if best is other:
        return Best(
            limit,
            best.step,
            f"A step of {plural(best.step, 'token')} serves best: {best.cache_rate:.0%} of the prompts "
            f"is read from the cache, and {best.kept_rate:.0%} of what fits is kept.",
        )
    turns = sum(len(each.turns) for each in best.simulations)
    return Best(limit, best.step, _compare(best, other, turns))


def _compare(best: Trial, other: Trial, turns: int) -> str:
    """Return a description of the gains and costs of the best step compared with another one."""
    step, others = plural(best.step, "token"), plural(other.step, "token")
    if best.score <= other.score + _MIN_DIFFERENCE:
        return (
            f"A step of {step} serves as well as one of {others}: {best.cache_rate:.0%} of the prompts is "
            f"read from the cache and {best.kept_rate:.0%} of what fits is kept, with the other "
            f"{other.cache_rate:.0%} and {other.kept_rate:.0%}."
        )
    if best.cache_rate <= other.cache_rate + _MIN_DIFFERENCE:
        return (
            f"With a step of {step}, {best.kept_rate:.0%} of what fits is kept, where a step of {others} "
            f"keeps {other.kept_rate:.0%}; {best.cache_rate:.0%} of the prompts is read from the cache, "
            f"with the other {other.cache_rate:.0%}."
        )
    cost = (best.needless - other.needless) // max(turns, 1)
    price = (
        f"It costs {plural(cost, 'token')} of the chat a turn" if cost > 0 else "It costs nothing of the chat"
    )
    changes = "with both" if best.breaks == other.breaks else f"not in {other.breaks:,}"
    return (
        f"With a step of {step}, {best.cache_rate:.0%} of the prompts is read from "
        f"the cache, where a step of {others} reads {other.cache_rate:.0%}: "
        f"the beginning changes in {best.breaks:,} of {turns:,} turns, {changes}. {price}; "
        f"{best.kept_rate:.0%} of what fits is kept."
    )


def _no_gain(smallest: Trial, uncut: float, cache: PrefixCache) -> str:
    if uncut <= smallest.cache_rate + _MIN_DIFFERENCE and uncut < _MIN_STABLE_RATE:
        why = "the prompt's beginning differs from turn to turn before what is cut"
    elif smallest.limit < cache.least:
        why = f"this cache keeps a beginning {cache.description} only"
    else:
        why = "what is cut does not come before what could be read"
    return (
        f"No step raises the cache rate of {smallest.cache_rate:.0%}, because {why}. "
        f"The smallest step loses the least of the chat."
    )


_MIN_STABLE_RATE: Final = 0.5
"""The cache rate below which an untruncated chat is considered to have an unstable beginning."""


@dataclass(frozen=True, slots=True)
class LabQuestion:
    """The parameters of the lab."""

    limit: int | None
    """The current token limit."""
    step: int | None
    """The current step."""
    limits: tuple[int, ...] = ()
    """The limits to try; by default, limits around the current one."""
    steps: tuple[int, ...] = ()
    """The steps to try; by default, steps suitable for each limit."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of the lab, which `rendering/turns.py` converts to JSON."""

    chats: list[ChatJson]
    limits: list[int]
    steps: list[int]
    cells: list[CellJson]
    best: list[BestJson]
    advice: str
    unstable: UnstableJson | None


def explore(
    chats: Sequence[Chat],
    question: LabQuestion,
    cache: PrefixCache,
    shared_tokens: Sequence[SharedTokens],
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Findings:
    """Simulate each step under each limit for the chats, of which there is at least one.

    `shared_tokens` has one function for each chat. `on_progress` receives the number of finished trials and
    their total.
    """
    pairs = list(zip(chats, shared_tokens, strict=True))
    uncut = [simulate(chat, NO_LIMIT, None, cache, shared) for chat, shared in pairs]
    longest = max(turn.tokens for each in uncut for turn in each.turns)
    limits = question.limits or candidate_limits(question.limit, longest)
    chosen = tuple(sorted({1, *question.steps})) if question.steps else ()
    plan = {limit: chosen or candidate_steps(limit, question.step) for limit in limits}
    count = sum(map(len, plan.values()))
    trials: dict[int, list[Trial]] = {}
    done = 0
    for limit, steps in plan.items():
        for step in steps:
            simulations = tuple(simulate(chat, limit, step, cache, shared) for chat, shared in pairs)
            trials.setdefault(limit, []).append(Trial(limit, step, simulations))
            done += 1
            on_progress(done, count)
    rate = Trial(NO_LIMIT, 1, tuple(uncut)).cache_rate
    best = [advise(those, rate, cache, question.step) for those in trials.values()]
    return Findings(
        chats=[
            _chat(chat, simulation, whole=chat is chats[0])
            for chat, simulation in zip(chats, uncut, strict=True)
        ],
        limits=list(limits),
        steps=sorted({trial.step for those in trials.values() for trial in those}),
        cells=[_cell(trial, chats[0]) for those in trials.values() for trial in those],
        best=[{"limit": each.limit, "step": each.step, "reason": each.reason} for each in best],
        advice=_advice(best, trials, question.limit),
        unstable=_unstable(chats[0], shared_tokens[0]),
    )


def _chat(chat: Chat, uncut: Simulation, *, whole: bool) -> ChatJson:
    return {
        "name": chat.name,
        "source": chat.source,
        "generated": chat.generated,
        "pieces": [_piece(piece) for piece in chat.pieces] if whole else [],
        "turns": [list(turn) for turn in chat.turns] if whole else [],
        "tokens": [turn.tokens for turn in uncut.turns],
        "cached": [turn.cached for turn in uncut.turns],
    }


def _piece(piece: Piece) -> PieceJson:
    priority: Any = piece.priority
    is_number = isinstance(priority, int | float)
    return {
        "name": piece.name,
        "role": piece.role,
        "tokens": piece.tokens,
        "priority": priority if is_number else None,
    }


def _cell(trial: Trial, chat: Chat) -> CellJson:
    return {
        "limit": trial.limit,
        "step": trial.step,
        "cacheRate": round(trial.cache_rate, 4),
        "keptRate": round(trial.kept_rate, 4),
        "lost": trial.lost,
        "needless": trial.needless,
        "breaks": trial.breaks,
        "score": round(trial.score, 4),
        "failures": list(trial.failures),
        "turns": _turns(trial.simulations[0], chat),
    }


def _turns(simulation: Simulation, chat: Chat) -> TurnsJson:
    turns = simulation.turns
    return {
        "tokens": [turn.tokens for turn in turns],
        "cached": [turn.cached for turn in turns],
        "lost": [turn.lost for turn in turns],
        "removed": [_runs(len(pieces), turn.kept) for pieces, turn in zip(chat.turns, turns, strict=True)],
        "failed": [index for index, turn in enumerate(turns) if turn.failure],
    }


def _runs(count: int, retained: Sequence[int]) -> list[int]:
    """Return the runs of indices below `count` that are not in `retained`, as first and last of each run."""
    ends = pairwise((-1, *retained, count))
    return [place for before, after in ends if after - before > 1 for place in (before + 1, after - 1)]


def _advice(best: Sequence[Best], trials: Mapping[int, Sequence[Trial]], present: int | None) -> str:
    """Return the best step under the current limit; without one, under the limit with the best score."""
    for each in best:
        if each.limit == present:
            return each.reason
    useful = [each for each in best if each.step is not None]
    if not useful:
        return best[0].reason
    chosen = max(useful, key=lambda each: best_trial(trials[each.limit]).score)
    return f"Under a limit of {chosen.limit:,} tokens: {lower_first(chosen.reason)}"


def _unstable(chat: Chat, shared_tokens: SharedTokens) -> UnstableJson | None:
    """Return the first part before any truncation in which two prompts of the chat differ."""
    found: UnstableJson | None = None
    for before, now in pairwise(chat.turns):
        for place, (old, new) in enumerate(zip(before, now, strict=False)):
            if may_go(chat.pieces[new].priority) or may_go(chat.pieces[old].priority):
                break
            if old != new:
                ahead = chat.tokens(now[:place]) + shared_tokens(old, new)
                if found is None or ahead < found["tokens"]:
                    found = {"part": chat.pieces[new].name, "tokens": ahead}
                break
    return found if any(may_go(piece.priority) for piece in chat.pieces) else None
