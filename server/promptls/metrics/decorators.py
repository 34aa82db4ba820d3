"""Decorators that make a metric of a function, in the interface of the Ragas documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptls.metrics.metric import AllowedValues, Kind, Metric

PASS_OR_FAIL = ("pass", "fail")


def discrete_metric(
    *, name: str | None = None, allowed_values: Sequence[Any] = PASS_OR_FAIL
) -> Callable[[Callable[..., Any]], Metric]:
    """A decorator for functions that return one of `allowed_values`, of which the first is the good one."""
    return _decorator(name, "discrete", list(allowed_values))


def numeric_metric(
    *,
    name: str | None = None,
    allowed_values: tuple[float, float] | range | None = (0.0, 1.0),
    lower_is_better: bool = False,
) -> Callable[[Callable[..., Any]], Metric]:
    """A decorator for functions that return a number; more is better, if not said otherwise.

    `allowed_values` is the lowest and the highest value, both included, or a range, or None for any.
    """
    return _decorator(name, "numeric", allowed_values, lower_is_better=lower_is_better)


def ranking_metric(
    *, name: str | None = None, allowed_values: int | Sequence[Any] | None = None
) -> Callable[[Callable[..., Any]], Metric]:
    """A decorator for functions that return a ranked list of indices.

    `allowed_values` is the length that the list must have; a sequence, as the Ragas documents
    write it, leaves the length free.
    """
    return _decorator(name, "ranking", allowed_values)


def _decorator(
    name: str | None, kind: Kind, allowed_values: AllowedValues, *, lower_is_better: bool = False
) -> Callable[[Callable[..., Any]], Metric]:
    def decorate(function: Callable[..., Any]) -> Metric:
        chosen = name or function.__name__
        return Metric(chosen, kind, allowed_values, function, lower_is_better=lower_is_better)

    return decorate
