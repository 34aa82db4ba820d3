"""Check that the response is valid JSON without other text.

| response | score |
| --- | --- |
| `'{"a": 1}'` | `pass` |
| `'Here it is: {"a": 1}'` | `fail` |
"""

from __future__ import annotations

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import NoJsonError, json_of


@discrete_metric()
def json_validity(response: str) -> MetricResult:
    """Return `pass` if the response is valid JSON."""
    try:
        json_of(response)
    except NoJsonError as error:
        return MetricResult("fail", str(error))
    return MetricResult("pass", "valid JSON")
