"""Many scores as one number: their mean, or another aggregation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from promptls.metrics.result import MetricResult
from promptls.text.errors import UsageError
from promptls.text.suggest import did_you_mean

AGGREGATIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "mode": statistics.mode,
    "sum": sum,
    "min": min,
    "max": max,
    "stdev": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
    "count": len,
}
"""By name; `mode` is the most frequent value, the first of several, and takes classes too."""


def aggregate(results: Iterable[Any], how: str = "mean") -> Any:
    """Return one number of many results, which may be MetricResults or values; None if there is none.

    Results without a value do not count. Raises UsageError for an unknown aggregation, and for classes where
    the aggregation takes numbers.
    """
    if how not in AGGREGATIONS:
        listed = ", ".join(f"`{name}`" for name in AGGREGATIONS)
        raise UsageError(f"there is no aggregation `{how}`{did_you_mean(how, AGGREGATIONS)}", remedy=listed)
    plain = [each.value if isinstance(each, MetricResult) else each for each in results]
    values = [each for each in plain if each is not None]
    if not values:
        return 0 if how in {"count", "sum"} else None
    try:
        return AGGREGATIONS[how](values)
    except TypeError:
        raise UsageError(
            f"`{how}` takes numbers, and these are classes", remedy="use `mode` or `count`"
        ) from None
