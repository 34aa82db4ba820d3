"""The whole lab: every step under every limit over all chats, and what is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from promptls.systems.prompt_poet.truncation import NO_LIMIT
from promptls.truncation.advice import Best, Trial, advise, best_trial
from promptls.truncation.candidates import candidate_limits, candidate_steps
from promptls.truncation.prefix_cache import PrefixCache
from promptls.truncation.report import (
    BestJson,
    CellJson,
    ChatJson,
    PieceJson,
    TurnsJson,
    UnstableJson,
)
from promptls.truncation.simulation import Simulation, simulate
from promptls.truncation.turns import Chat, Piece, SharedTokens, may_go


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be tried."""

    limit: int | None
    """The present token limit."""
    step: int | None
    """The present step."""
    limits: tuple[int, ...] = ()
    """The limits to try; empty for a choice around the present one."""
    steps: tuple[int, ...] = ()
    """The steps to try; empty for a choice that suits each limit."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found; the JSON of `report.py` holds it, beside what it was found with."""

    chats: list[ChatJson]
    limits: list[int]
    steps: list[int]
    cells: list[CellJson]
    best: list[BestJson]
    advice: str
    unstable: UnstableJson | None


def explore(
    chats: Sequence[Chat],
    question: Question,
    cache: PrefixCache,
    shared_tokens: Sequence[SharedTokens],
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> Findings:
    """What each step under each limit does to the chats, of which there is at least one.

    `shared_tokens` belong to the chats, one to each. `tell` hears how many trials of how many are done.
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
            tell(done, count)
    rate = Trial(NO_LIMIT, 1, tuple(uncut)).cache_rate
    best = [advise(those, rate, cache, question.step) for those in trials.values()]
    return Findings(
        chats=[_chat(chat, its, whole=chat is chats[0]) for chat, its in zip(chats, uncut, strict=True)],
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
        "failed": [number for number, turn in enumerate(turns) if turn.failure],
    }


def _runs(count: int, kept: Sequence[int]) -> list[int]:
    """The places from 0 to `count` that are not kept, as first and last of each run."""
    ends = pairwise((-1, *kept, count))
    return [place for before, after in ends if after - before > 1 for place in (before + 1, after - 1)]


def _advice(best: Sequence[Best], trials: Mapping[int, Sequence[Trial]], present: int | None) -> str:
    """What is best under the present limit; where there is none, under the limit that serves best."""
    for each in best:
        if each.limit == present:
            return each.reason
    useful = [each for each in best if each.step is not None]
    if not useful:
        return best[0].reason
    chosen = max(useful, key=lambda each: best_trial(trials[each.limit]).score)
    return f"Under a limit of {chosen.limit:,} tokens: {chosen.reason[0].lower()}{chosen.reason[1:]}"


def _unstable(chat: Chat, shared_tokens: SharedTokens) -> UnstableJson | None:
    """Where two prompts of the chat differ in a part that is never cut and stands ahead of all that are."""
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
