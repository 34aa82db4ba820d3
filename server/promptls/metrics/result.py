"""The result of a metric, and many results as one number: their mean, or another aggregation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptls.text.errors import UsageError
from promptls.text.suggest import did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class MetricResult:
    """A score and the reason for it; a `value` of None means that there is no score, and `reason` why.

    It counts, compares and is gone through as its value is: `result + 1`, `result == "pass"`,
    `if result`. Two results are equal when value and reason are.
    """

    value: Any
    reason: str | None = None
    traces: dict[str, Any] | None = None
    """What a model was asked under `input`, and what it answered under `output`."""

    def to_dict(self) -> dict[str, Any]:
        """Return value and reason, as Ragas names them."""
        return {"result": self.value, "reason": self.reason}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MetricResult):
            return bool(self.value == other.value and self.reason == other.reason)
        return bool(self.value == other)

    def __hash__(self) -> int:
        # Equal to its value, it has the hash of it; a list has none, and is no key of anything.
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
