"""Check that the response contains the expected text, as in Ragas.

| response | expected | score |
| --- | --- | --- |
| `The answer is Paris.` | `Paris` | `pass` |
| `The answer is Paris.` | `paris` | `fail` |
| `The answer is London.` | `Paris` | `fail` |

With `ignore_case: true`, case is ignored.

| response | expected | ignore_case | score |
| --- | --- | --- | --- |
| `The answer is Paris.` | `paris` | `true` | `pass` |

With a list, all of its texts must occur.

| response | expected | score |
| --- | --- | --- |
| `Paris and Rome` | `[Paris, Rome]` | `pass` |
| `Paris` | `[Paris, Rome]` | `fail` |
"""

from __future__ import annotations

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import items_of


@discrete_metric()
def string_presence(response: str, expected: object, ignore_case: bool = False) -> MetricResult:
    """Return `pass` if the response contains every text of `expected`."""
    wanted = [str(item) for item in items_of(expected, split=False)]
    missing = [text for text in wanted if not _stands_in(text, response, ignore_case)]
    if missing:
        return MetricResult("fail", "not in it: " + ", ".join(f"“{text}”" for text in missing))
    return MetricResult("pass", "it stands in the response")


def _stands_in(text: str, response: str, ignore_case: bool) -> bool:
    return text.casefold() in response.casefold() if ignore_case else text in response
