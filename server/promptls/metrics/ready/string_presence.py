"""Whether the expected text stands somewhere in the response, whatever the letters' case.

| response | expected | score |
| --- | --- | --- |
| `The answer is Paris.` | `paris` | `pass` |
| `The answer is London.` | `Paris` | `fail` |

A list asks for all of its texts.

| response | expected | score |
| --- | --- | --- |
| `Paris and Rome` | `[Paris, Rome]` | `pass` |
| `Paris` | `[Paris, Rome]` | `fail` |
"""

from __future__ import annotations

from promptls.metrics.decorators import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import items_of


@discrete_metric()
def string_presence(response: str, expected: object) -> MetricResult:
    """`pass` where every text of `expected` stands somewhere in the response."""
    wanted = [str(item) for item in items_of(expected, split=False)]
    missing = [text for text in wanted if text.casefold() not in response.casefold()]
    if missing:
        return MetricResult("fail", "not in it: " + ", ".join(f"“{text}”" for text in missing))
    return MetricResult("pass", "it stands in the response")
