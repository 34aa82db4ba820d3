"""Goals of the keystroke benchmark, as ratios within one run, and whether they are met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Final, NamedTuple

from typist import ANSWER_SECONDS, BURST

Times = dict[str, list[float]]
"""The measured seconds by server; infinity for no answer in time."""
REQUESTS: Final = ("hover", "completion", "definition")
OTHER_KINDS: Final = ("an object", "an evaluation", "saved JSON")
"""The kinds of prompts that are measured besides parts templates."""
FLOOR: Final = {50: 2.5, 500: 2.5, 5000: 1.5, 50000: 0.8}
"""Limits for a keystroke, by the number of lines."""
SPREAD: Final = {50: 5, 500: 5, 5000: 5}
KEYSTROKES: Final = ("keystroke", *(f"keystroke in {kind}" for kind in OTHER_KINDS))


class Goal(NamedTuple):
    """A ratio of two servers' times, with its bounds by the number of lines.

    `at_most` says whether the bounds are upper or lower ones.
    """

    title: str
    row: str
    over: str
    under: str
    percentile: int
    bounds: Mapping[int, float]
    at_most: bool = True
    under_percentile: int | None = None
    """The percentile of the other server's times, if it differs."""


GOALS: Final = (
    *(Goal(f"{row}, p50 over the empty server's", row, "promptls", "empty", 50, FLOOR) for row in KEYSTROKES),
    *(
        Goal(f"{row}, p99 over our own p50", row, "promptls", "promptls", 99, SPREAD, under_percentile=50)
        for row in KEYSTROKES
    ),
    Goal(
        "keystroke, p50 of jinja-lsp over ours",
        "keystroke",
        "jinja-lsp",
        "promptls",
        50,
        {500: 4, 5000: 50},
        at_most=False,
    ),
    Goal(
        f"a burst of {BURST}, p50 over the empty server's",
        f"burst of {BURST}",
        "promptls",
        "empty",
        50,
        {50: 1, 500: 1},
    ),
    *(
        Goal(
            f"{request} after an edit, p95 over the empty server's",
            f"{request} after an edit",
            "promptls",
            "empty",
            95,
            {50: 2, 500: 2, 5000: 1.5, 50000: 1},
        )
        for request in REQUESTS
    ),
)


def percentile(times: list[float], percent: int) -> float:
    """Return this percentile of the times."""
    if len(times) == 1:
        return times[0]
    if percent == 50:
        return statistics.median(times)
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]


def print_goals(measured: Mapping[tuple[str, int], Times]) -> None:
    """Print each ratio beside its bound, for the measured lengths and servers."""
    lengths = sorted({lines for _, lines in measured})
    print(f"\n{'ratios, with what they are to be':<56}" + "".join(f"{lines:>18}" for lines in lengths))
    for goal in GOALS:
        cells = [_cell(goal, measured, lines) for lines in lengths]
        if any(cells):
            print(f"{goal.title:<56}" + "".join(f"{cell:>18}" for cell in cells))


def _cell(goal: Goal, measured: Mapping[tuple[str, int], Times], lines: int) -> str:
    """Return the ratio, its bound, and a cross if the bound is not met; empty if the ratio is unknown."""
    over = measured.get((goal.row, lines), {}).get(goal.over)
    under = measured.get((goal.row, lines), {}).get(goal.under)
    if not over or not under or math.isinf(under[0]):
        return ""
    seconds = percentile(over, goal.percentile)
    ratio = min(seconds, ANSWER_SECONDS) / percentile(under, goal.under_percentile or goal.percentile)
    number = (">" if math.isinf(seconds) else "") + (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}")
    bound = goal.bounds.get(lines)
    if bound is None:
        return number
    is_met = ratio <= bound if goal.at_most else ratio >= bound
    return f"{number} ({'≤' if goal.at_most else '≥'} {bound:g}){' ' if is_met else '✗'}"
