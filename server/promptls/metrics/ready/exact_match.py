"""Whether the response is the expected text.

White space at both ends is left aside, and nothing else: `P1.` is not `P1`.

| response | expected | score |
| --- | --- | --- |
| `P1` | `P1` | `pass` |
| `"  P1 "` | `P1` | `pass` |
| `P1.` | `P1` | `fail` |
| `p1` | `P1` | `fail` |

With `ignore_case: true` the letters' case is left aside too.

| response | expected | ignore_case | score |
| --- | --- | --- | --- |
| `p1` | `P1` | `true` | `pass` |
"""

from __future__ import annotations

from promptls.metrics.decorators import discrete_metric
from promptls.metrics.result import MetricResult


@discrete_metric()
def exact_match(response: str, expected: object, ignore_case: bool = False) -> MetricResult:
    """`pass` where the response is the text `expected`, white space at the ends left aside."""
    given, wanted = response.strip(), str(expected).strip()
    same = given.casefold() == wanted.casefold() if ignore_case else given == wanted
    if same:
        return MetricResult("pass", "the same text")
    return MetricResult("fail", f"expected “{wanted}”, got “{given}”")
