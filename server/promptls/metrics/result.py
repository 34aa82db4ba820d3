"""What a metric gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


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
