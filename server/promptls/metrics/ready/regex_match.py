"""Whether a regular expression is found in the response.

The option `pattern` is the expression, in Python's notation. `whole: true` asks that it matches all
of the response, white space at the ends left aside.

| response | pattern | score |
| --- | --- | --- |
| `priority: P2` | `P[0-3]` | `pass` |
| `priority: high` | `P[0-3]` | `fail` |

| response | pattern | whole | score |
| --- | --- | --- | --- |
| `P2` | `P[0-3]` | `true` | `pass` |
| `It is P2` | `P[0-3]` | `true` | `fail` |
"""

from __future__ import annotations

import re

from promptls.metrics.decorators import discrete_metric
from promptls.metrics.result import MetricResult


@discrete_metric()
def regex_match(response: str, pattern: str, whole: bool = False) -> MetricResult:
    """`pass` where the pattern is found in the response; a pattern that is none gives no score."""
    try:
        expression = re.compile(pattern)
    except re.error as error:
        return MetricResult(None, f"`{pattern}` is no regular expression: {error}")
    found = expression.fullmatch(response.strip()) if whole else expression.search(response)
    if found is None:
        return MetricResult("fail", f"no match for `{pattern}`")
    return MetricResult("pass", f"“{found.group()}” matches `{pattern}`")
