"""Cost of the answer in US dollars; less is better.

Rows have no score if the price of the model is unknown.

| cost | score |
| --- | --- |
| `0.002` | `0.002` |
"""

from __future__ import annotations

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.text.format import in_dollars


@numeric_metric(allowed_values=None, lower_is_better=True)
def cost(cost: float | None) -> MetricResult:
    """Return the cost of the answer in US dollars."""
    if cost is None:
        return MetricResult(None, "it is not known")
    return MetricResult(cost, in_dollars(cost))
