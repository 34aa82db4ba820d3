"""What a metric gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MetricResult:
    """A score and the reason for it; a `value` of None means that there is no score, and `reason` why."""

    value: Any
    reason: str | None = None
