"""Scores that a run must reach, as its experiment, a command or a test demands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from promptls.experiments.history import RunSummary
from promptls.text.errors import UsageError
from promptls.text.suggest import did_you_mean


class Threshold(NamedTuple):
    """The worst score that a metric may have: of the share of the good class, or of the mean.

    It is the least, or the most where less is better.
    """

    metric: str
    bound: float

    def is_missed_by(self, run: RunSummary) -> bool:
        """Return whether the run scores worse, or has no score at all."""
        found = run.metric(self.metric)
        if found is None or found.value is None:
            return True
        return found.value > self.bound if found.lower_is_better else found.value < self.bound

    def words(self, run: RunSummary) -> str:
        """Return what is to be said where it is missed."""
        found = run.metric(self.metric)
        score = "no score" if found is None or found.value is None else found.text
        limit = "most" if found is not None and found.lower_is_better else "least"
        bound = (
            f"{self.bound * 100:g} %" if found is not None and found.kind == "discrete" else f"{self.bound:g}"
        )
        return f"{run.name}: {self.metric} is {score}, and must be at {limit} {bound}"


def thresholds_of(declared: Mapping[str, float], others: Iterable[Threshold] = ()) -> list[Threshold]:
    """Return the declared thresholds, and others, which take the place of those of the same metric."""
    chosen = {**declared, **{each.metric: each.bound for each in others}}
    return [Threshold(metric, bound) for metric, bound in chosen.items()]


def check_thresholds(thresholds: Iterable[Threshold], metrics: list[str]) -> None:
    """Raise `UsageError` for a threshold of a metric that is not one of these."""
    for each in thresholds:
        if each.metric not in metrics:
            raise UsageError(
                f"the experiment has no metric `{each.metric}`{did_you_mean(each.metric, metrics)}",
                remedy=f"its metrics are {', '.join(f'`{name}`' for name in metrics) or 'none'}",
            )
