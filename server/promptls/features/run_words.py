"""Runs and their results in the few words that a lens has room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from promptls.text.dollars import in_dollars

if TYPE_CHECKING:
    from promptls.experiments.events import Planned
    from promptls.experiments.history import RunSummary

_MOST_RESPONSE = 60
_MINUTE = 100
"""Seconds from which on a time is told in minutes."""


class Running(NamedTuple):
    """How far a run is: results that are there, of how many, and the seconds that are left, if known."""

    done: int
    total: int
    left: float | None = None


def running_text(experiment: str, running: Running) -> str:
    """`Running triage: 12 of 50 · 3 s left`."""
    if not running.total:
        return f"Running {experiment}: rendering the rows"
    left = f" · {seconds_text(running.left)} left" if running.left is not None else ""
    return f"Running {experiment}: {running.done} of {running.total}{left}"


def progress_text(done: int, total: int, rate: float | None, left: float | None) -> str:
    """`12 of 50 rows, 1.5 a second, 25 s left`; of a run that is done, or has just begun, only the rows."""
    words = [f"{done:,} of {total:,} rows"]
    if rate is not None and done < total:
        words.append(f"{rate:.1f} a second")
    if left is not None and done < total:
        words.append(f"{seconds_text(left)} left")
    return ", ".join(words)


def plan_text(planned: Planned) -> str:
    """The plan in one sentence: `12 of 50 rendered prompts are changed by the edit; 12 calls, …`."""
    words = [f"{planned.rows} rows" if planned.changed is None else changed_text(planned)]
    words.append(f"{planned.calls} calls to make, {planned.cached} answered before")
    cost = planned.longest_cost if planned.longest_cost is not None else planned.prompt_cost
    if cost is not None:
        words.append(f"about {in_dollars(cost)}" if cost else "free")
    if planned.failing:
        words.append(f"{planned.failing} rows cannot be rendered")
    if planned.over_limit:
        words.append(f"{planned.over_limit} rows are over the token limit")
    return "; ".join(words)


def changed_text(planned: Planned) -> str:
    """What the edit has changed: `12 of 50 rendered prompts differ from the last run`."""
    return f"{planned.changed} of {planned.rows} rendered prompts differ from the last run"


def seconds_text(seconds: float) -> str:
    """A time in words, whole seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < _MINUTE else f"{seconds / 60:.0f} min"


def verdict_text(run: RunSummary, cells: Mapping[str, str]) -> str:
    """What one result came to: its scores or its error; without metrics the beginning of the answer."""
    error = cells.get("error")
    scores = [f"{metric.name} {score}" for metric in run.metrics if (score := cells.get(metric.name))]
    words = (
        f"failed: {_cut(error)}" if error else ", ".join(scores) or _cut(cells.get("response") or "answered")
    )
    return f"{words} · stale" if run.stale else words


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_RESPONSE else f"{line[:_MOST_RESPONSE]}…"
