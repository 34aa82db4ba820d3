"""How much of the expected set the response names: the F1 of its items.

The sets are read as `set_match` reads them. 1 is the same set, 0 has no item in common.

| response | expected | score |
| --- | --- | --- |
| `Account, Billing` | `[Billing, Account]` | `1` |
| `Account, Bug` | `Account` | `0.667` |
| `Bug` | `Account` | `0` |
"""

from __future__ import annotations

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import item_set


@numeric_metric()
def set_f1(response: str, expected: object) -> MetricResult:
    """The harmonic mean of precision and recall of the response's items, from 0 to 1."""
    given, wanted = item_set(response), item_set(expected)
    if not given and not wanted:
        return MetricResult(1.0, "both are empty")
    common = len(given & wanted)
    return MetricResult(2 * common / (len(given) + len(wanted)), f"{common} of {len(wanted)} expected items")
