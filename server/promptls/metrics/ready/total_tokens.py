"""How many tokens prompt and answer have together; less is better.

They are those that the provider counted.

| tokens | score |
| --- | --- |
| `120` | `120` |
"""

from __future__ import annotations

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.result import MetricResult


@numeric_metric(allowed_values=None, lower_is_better=True)
def total_tokens(tokens: float | None) -> MetricResult:
    """The tokens of the answer."""
    if tokens is None:
        return MetricResult(None, "it is not known")
    return MetricResult(tokens, f"{tokens:g} tokens")
