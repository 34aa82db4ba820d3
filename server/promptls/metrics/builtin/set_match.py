"""Check that the response and the expected value have the same items, in any order.

A JSON list is the set of its items, a JSON string or number is a set with one item, and other text is
split at commas. Case is ignored.

| response | expected | score |
| --- | --- | --- |
| `Billing, Account` | `[Account, Billing]` | `pass` |
| `'["Account"]'` | `Account` | `pass` |
| `Account` | `Account, Billing` | `fail` |
| `Account, Bug` | `Account` | `fail` |
"""

from __future__ import annotations

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import item_set


@discrete_metric()
def set_match(response: str, expected: object) -> MetricResult:
    """Return `pass` if the response and `expected` are equal sets."""
    given, wanted = item_set(response), item_set(expected)
    problems = [
        f"{word}: {', '.join(sorted(items))}"
        for word, items in (("missing", wanted - given), ("too many", given - wanted))
        if items
    ]
    return MetricResult("fail", "; ".join(problems)) if problems else MetricResult("pass", "the same set")
