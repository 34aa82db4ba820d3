"""Seconds that the model took to answer; less is better.

A cached answer keeps the time of the original request.

| seconds | score |
| --- | --- |
| `0.25` | `0.25` |
"""

from __future__ import annotations

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.text.format import plural


@numeric_metric(allowed_values=None, lower_is_better=True)
def latency(seconds: float | None) -> MetricResult:
    """Return the duration of the answer in seconds."""
    if seconds is None:
        return MetricResult(None, "it is not known")
    return MetricResult(seconds, f"{plural(seconds, 'second')}")
