"""How many seconds the model took to answer; less is better.

An answer from the cache counts with the seconds that it took when it was made.

| seconds | score |
| --- | --- |
| `0.25` | `0.25` |
"""

from __future__ import annotations

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.text.counted import counted


@numeric_metric(allowed_values=None, lower_is_better=True)
def latency(seconds: float | None) -> MetricResult:
    """The seconds of the answer."""
    if seconds is None:
        return MetricResult(None, "it is not known")
    return MetricResult(seconds, f"{counted(seconds, 'second')}")
