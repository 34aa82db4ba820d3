"""The result of one row, and the score of a metric over many rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from promptls.experiments.judging import JudgeAccount
from promptls.metrics.metric import Metric


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a response by a metric; `value` is None if it could not be scored."""

    value: Any
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    """A result of a run: a row, the model, and the response or the `error`.

    `number` is the row's number from 1, `line` is its line in the dataset from 0, `repeat` counts
    from 1. `seconds` is the duration of the call. `cost` is in US dollars, None if the price is unknown.
    `problem` describes what is wrong with the form of the response, if one is required. `cached` means that
    the response, with its tokens, seconds and cost, is from an earlier call.
    """

    id: str
    number: int
    line: int
    model: str
    repeat: int
    values: Mapping[str, Any]
    response: str | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    finish_reason: str | None = None
    digest: str = ""
    problem: str | None = None
    note: str | None = None
    """What was changed in the answer on receipt, or the numbers by which labels were compared."""
    cached: bool = False
    judging: Mapping[str, Any] | None = None
    """The usage of the response's judges, see `JudgeAccount`; None if none was called."""
    cached_input_tokens: int | None = None
    """The input tokens that the provider read from its prefix cache."""
    reasoning_tokens: int | None = None
    """The output tokens of reasoning, which is no part of the response."""
    unscored: Sequence[str] = ()
    """The metrics whose judge gave no verdict; a resumed run scores them again."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        plain = {name: getattr(self, name) for name in _FIELDS}
        plain["scores"] = {
            name: {"value": score.value, "reason": score.reason} for name, score in self.scores.items()
        }
        return plain

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RowResult:
        """Deserialize a result written by `to_json`."""
        scores = {name: Score(**score) for name, score in value["scores"].items()}
        return cls(**{**value, "scores": scores})


_FIELDS = tuple(field.name for field in fields(RowResult))


def described_metric(metric: Metric) -> dict[str, Any]:
    """Return the description of a metric for a manifest, without its score."""
    allowed = metric.allowed_values
    return {
        "name": metric.name,
        "kind": metric.kind,
        "allowed_values": list(allowed) if isinstance(allowed, list | tuple) else repr(allowed),
    }


class Tally:
    """Aggregates the scores of a metric."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._classes: Counter[str] = Counter()
        self._sum = 0.0
        self._scored = 0
        self._unscored = 0

    def add(self, score: Score | None) -> None:
        """Add the score of a row; None for failed rows, which were not scored."""
        if score is None or score.value is None:
            self._unscored += 1
            return
        self._scored += 1
        if self._metric.kind == "discrete":
            self._classes[str(score.value)] += 1
        elif self._metric.kind == "numeric":
            self._sum += float(score.value)

    def summary(self) -> dict[str, Any]:
        """Return the score as plain data.

        `value` is the proportion of the good class (discrete) or the mean (numeric) over the rows that
        have a score; None for rankings, and if no row has a score.
        """
        kind = self._metric.kind
        good = good_class(kind, self._metric.allowed_values)
        value = None
        if self._scored and kind == "numeric":
            value = self._sum / self._scored
        elif self._scored and good is not None:
            value = self._classes[good] / self._scored
        return {
            **described_metric(self._metric),
            "value": value,
            "scored": self._scored,
            "unscored": self._unscored,
            "counts": dict(self._classes),
            "lower_is_better": self._metric.lower_is_better,
        }


class Totals:
    """Totals of metrics, tokens, cost and failures, for the whole run and for each model.

    `cost` is the original cost of the answers, `paid` the amount that this run spent on uncached ones;
    `invalid` answers violate the form that the prompt requires.
    """

    def __init__(self, metrics: Sequence[Metric], models: Sequence[str]) -> None:
        self._whole = _Total(metrics)
        self._of_model = {model: _Total(metrics) for model in models}

    def add(self, result: RowResult) -> None:
        """Add a result."""
        self._whole.add(result)
        self._of_model[result.model].add(result)

    def summary(self) -> dict[str, Any]:
        """Return `metrics` and `totals` of the run and, if it has several models, the same `by_model`."""
        summary = self._whole.summary()
        if len(self._of_model) > 1:
            summary["by_model"] = {model: total.summary() for model, total in self._of_model.items()}
        return summary


class _Total:
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._tallies = {metric.name: Tally(metric) for metric in metrics}
        self._counts = dict.fromkeys((*_COUNTS, *_PARTS), 0)
        self._cost: float | None = None
        self._paid: float | None = None
        self._judging = JudgeAccount()

    def add(self, result: RowResult) -> None:
        for name, tally in self._tallies.items():
            tally.add(result.scores.get(name))
        self._counts["results"] += 1
        self._counts["failed"] += result.error is not None
        self._counts["invalid"] += result.problem is not None
        for name in ("cached", "input_tokens", "output_tokens", *_PARTS):
            self._counts[name] += getattr(result, name) or 0
        if result.cost is not None:
            self._spend(result.cost, 0.0 if result.cached else result.cost)
        if result.judging is not None:
            judging = JudgeAccount(**result.judging)
            self._judging.take(judging)
            if judging.cost is not None:
                self._spend(judging.cost, judging.paid or 0.0)

    def _spend(self, cost: float, paid: float) -> None:
        self._cost = (self._cost or 0.0) + cost
        self._paid = (self._paid or 0.0) + paid

    def summary(self) -> dict[str, Any]:
        judging = self._judging
        return {
            "metrics": [tally.summary() for tally in self._tallies.values()],
            "totals": {
                **({"judging": judging.to_json()} if judging.calls or judging.cached else {}),
                **{name: count for name, count in self._counts.items() if count or name in _COUNTS},
                "cost": self._cost,
                "paid": self._paid,
            },
        }


_COUNTS: Final = ("results", "failed", "invalid", "cached", "input_tokens", "output_tokens")
_PARTS: Final = ("cached_input_tokens", "reasoning_tokens")
"""The counts of tokens that totals contain only if there are any."""


def good_class(kind: str, allowed: Any) -> str | None:
    """Return the class of a discrete metric whose proportion is the score: the first allowed value."""
    return str(allowed[0]) if kind == "discrete" and isinstance(allowed, list | tuple) and allowed else None


def score_text(summary: Mapping[str, Any]) -> str:
    """Format the score for display: `75 %` for classes, `0.83` for numbers, `no score` if there is none."""
    value = summary["value"]
    if value is None or math.isnan(value):
        return "no score" if not summary["scored"] else f"{summary['scored']} rankings"
    if summary["kind"] == "discrete":
        return f"{value:.0%}".replace("%", " %")
    return f"{value:.3g}"
