"""Compare the items of the response with the expected set: F1.

Sets are read as in `set_match`. 1 means equal sets, 0 no common item.

| response | expected | score |
| --- | --- | --- |
| `Account, Billing` | `[Billing, Account]` | `1` |
| `Account, Bug` | `Account` | `0.667` |
| `Bug` | `Account` | `0` |
"""

from __future__ import annotations

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import item_set


@numeric_metric()
def set_f1(response: str, expected: object) -> MetricResult:
    """Return the harmonic mean of precision and recall of the response's items, from 0 to 1."""
    given, wanted = item_set(response), item_set(expected)
    if not given and not wanted:
        return MetricResult(1.0, "both are empty")
    common = len(given & wanted)
    return MetricResult(2 * common / (len(given) + len(wanted)), f"{common} of {len(wanted)} expected items")
