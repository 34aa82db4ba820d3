"""Check that a regular expression matches in the response.

Set the expression with the option `pattern`, in Python's syntax. With `whole: true`, it must match the
whole response without leading and trailing white space. There is no score if a search takes over a second.

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

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.text.patterns import PatternError, search_pattern


@discrete_metric()
def regex_match(response: str, pattern: str, whole: bool = False) -> MetricResult:
    """Return `pass` if the pattern matches in the response; an invalid pattern gives no score."""
    try:
        found = search_pattern(pattern, response.strip() if whole else response, whole=whole)
    except PatternError as error:
        return MetricResult(None, f"`{pattern}` is no regular expression: {error}")
    except TimeoutError:
        return MetricResult(
            None, f"the search for `{pattern}` took too long; write it without nested repeats such as `(a+)+`"
        )
    if found is None:
        return MetricResult("fail", f"no match for `{pattern}`")
    return MetricResult("pass", f"“{found}” matches `{pattern}`")
