"""Check that the response is the expected text, character by character, as in Ragas.

| response | expected | score |
| --- | --- | --- |
| `P1` | `P1` | `pass` |
| `P1.` | `P1` | `fail` |
| `p1` | `P1` | `fail` |
| `" P1 "` | `P1` | `fail` |

With `strip: true`, leading and trailing white space is ignored; with `ignore_case: true`, case is.

| response | expected | strip | ignore_case | score |
| --- | --- | --- | --- | --- |
| `"  P1 "` | `P1` | `true` | `false` | `pass` |
| `p1` | `P1` | `false` | `true` | `pass` |
"""

from __future__ import annotations

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult


@discrete_metric()
def exact_match(
    response: str, expected: object, ignore_case: bool = False, strip: bool = False
) -> MetricResult:
    """Return `pass` if the response equals the text `expected`."""
    given, wanted = response, str(expected)
    if strip:
        given, wanted = given.strip(), wanted.strip()
    same = given.casefold() == wanted.casefold() if ignore_case else given == wanted
    if same:
        return MetricResult("pass", "the same text")
    if given.strip() == wanted.strip():
        return MetricResult(
            "fail", "the same text but for white space at the ends, which `strip` leaves aside"
        )
    return MetricResult("fail", f"expected “{wanted}”, got “{given}”")
