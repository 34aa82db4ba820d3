"""Tokens of prompt and answer together; less is better.

The provider counts them.

| tokens | score |
| --- | --- |
| `120` | `120` |
"""

from __future__ import annotations

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult


@numeric_metric(allowed_values=None, lower_is_better=True)
def total_tokens(tokens: float | None) -> MetricResult:
    """Return the number of tokens of prompt and answer."""
    if tokens is None:
        return MetricResult(None, "it is not known")
    return MetricResult(tokens, f"{tokens:g} tokens")
