"""What a comparison says, in words for people who know no statistics."""

from __future__ import annotations

from math import floor, log10
from typing import Literal, NamedTuple, TypeAlias

from promptls.experiments.statistics import Difference, is_clear

Verdict: TypeAlias = Literal["better", "worse", "undecided"]


class Chance(NamedTuple):
    """The corrected p, and for how many differences."""

    p_value: float
    compared: int

    def __str__(self) -> str:
        said = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"  # noqa: PLR2004
        return said if self.compared == 1 else f"{said} among {self.compared} comparisons"


def unit_of(kind: str) -> str:
    """Return what a difference of this kind of metric is counted in, with a space before it.

    Nothing for numbers.
    """
    return " points" if kind == "discrete" else ""


def in_words(kind: str, verdict: Verdict, found: Difference, chance: Chance, name: str) -> str:
    """Return the sentence about one metric of the run `name`."""
    unit = unit_of(kind)
    if verdict != "undecided":
        # "Worse by 25" needs no sign, and neither does its interval.
        sign = 1 if found.difference > 0 else -1
        low, high = sorted((sign * found.low, sign * found.high))
        interval = f"95 % interval {amount(kind, low)} to {amount(kind, high)}, {chance}"
        return f"{name} is {verdict} by {amount(kind, sign * found.difference)}{unit} ({interval})"
    if found.low == found.high == 0:
        return f"cannot be told apart at n = {found.pairs:,}: each row scores the same in both"
    interval = f"95 % interval {amount(kind, found.low, '+')} to {amount(kind, found.high, '+')}, {chance}"
    if found.needed is None:
        return f"cannot be told apart at n = {found.pairs:,}: both score the same ({interval})"
    seen = f"difference {amount(kind, found.difference, '+')}{unit}, {interval}"
    if is_clear(found.p_value):
        return (
            f"cannot be told apart among {chance.compared} comparisons ({seen}): looked at alone it would "
            "count, but of so many differences one like it may well be chance; run this comparison again "
            "on rows of its own"
        )
    # The estimate is one for many rows: of a few, an exact test needs some more.
    needed = "some more rows" if found.needed <= found.pairs else f"about {_rounded(found.needed)} rows"
    return (
        f"cannot be told apart at n = {found.pairs:,} ({seen}); {needed} "
        "would be needed to be sure of a difference of this size"
    )


def amount(kind: str, value: float, sign: str = "-") -> str:
    """Return a difference for people, in points where it is one of shares; `sign` is that of a format.

    One of less than a point keeps its first digit, so that it does not read as none.
    """
    if kind != "discrete":
        return f"{value:{sign}.3g}"
    points = round(value * 100, 9) + 0.0  # not -0.0
    decimals = 0 if points == 0 or abs(points) >= 1 else -floor(log10(abs(points)))
    return f"{points:{sign}.{decimals}f}"


def _rounded(rows: int) -> str:
    """Return a number of rows with two digits, because it is an estimate."""
    digits = max(0, len(str(rows)) - 2)
    return f"{round(rows, -digits):,}"
