"""The result of a metric, and the aggregation of results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptls.text.errors import UsageError
from promptls.text.suggest import did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class MetricResult:
    """A score and its reason; `value` is None if there is no score, and `reason` then says why.

    It supports the arithmetic, comparison and iteration of its value: `result + 1`, `result == "pass"`,
    `if result`. Two results are equal if their values and reasons are.
    """

    value: Any
    reason: str | None = None
    traces: dict[str, Any] | None = None
    """The request to a model under `input`, and its answer under `output`."""

    def to_dict(self) -> dict[str, Any]:
        """Return value and reason, with the keys that Ragas uses."""
        return {"result": self.value, "reason": self.reason}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MetricResult):
            return bool(self.value == other.value and self.reason == other.reason)
        return bool(self.value == other)

    def __hash__(self) -> int:
        # A result equals its value, so it must have the same hash; lists are not hashable.
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __contains__(self, item: Any) -> bool:
        return item in self.value

    def __add__(self, other: Any) -> Any:
        return self.value + _plain(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.value

    def __sub__(self, other: Any) -> Any:
        return self.value - _plain(other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.value

    def __mul__(self, other: Any) -> Any:
        return self.value * _plain(other)

    def __rmul__(self, other: Any) -> Any:
        return other * self.value

    def __truediv__(self, other: Any) -> Any:
        return self.value / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _plain(other))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, MetricResult) else value


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
"""Aggregations by name; `mode` is the (first) most frequent value, and also works for classes."""


def aggregate(results: Iterable[Any], how: str = "mean") -> Any:
    """Aggregate results, which may be MetricResults or values, to a number; None if there are no values.

    Results without a value are ignored. Raises UsageError for an unknown aggregation, and for classes if
    the aggregation requires numbers.
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
