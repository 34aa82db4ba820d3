"""What the answer cost, in US dollars; less is better.

Rows of models whose price is not known have no score.

| cost | score |
| --- | --- |
| `0.002` | `0.002` |
"""

from __future__ import annotations

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.text.dollars import in_dollars


@numeric_metric(allowed_values=None, lower_is_better=True)
def cost(cost: float | None) -> MetricResult:
    """The US dollars of the answer."""
    if cost is None:
        return MetricResult(None, "it is not known")
    return MetricResult(cost, in_dollars(cost))
