"""Metrics that need no file of one's own, by the name that a header gives them."""

from __future__ import annotations

import json

from promptls.metrics.decorators import discrete_metric
from promptls.metrics.metric import Metric
from promptls.metrics.result import MetricResult


@discrete_metric(allowed_values=("pass", "fail"))
def exact_match(response: str, expected: str) -> MetricResult:
    """Whether the response is the column `expected`, white space at the ends left aside."""
    same = response.strip() == str(expected).strip()
    return MetricResult(
        "pass" if same else "fail", "the same text" if same else f"expected “{expected}”, got “{response}”"
    )


@discrete_metric(allowed_values=("pass", "fail"))
def string_presence(response: str, expected: str) -> MetricResult:
    """Whether the column `expected` stands somewhere in the response, whatever the letters' case."""
    found = str(expected).casefold() in response.casefold()
    return MetricResult("pass" if found else "fail", f"“{expected}” {'stands' if found else 'is not'} in it")


@discrete_metric(allowed_values=("pass", "fail"))
def json_validity(response: str) -> MetricResult:
    """Whether the response is valid JSON, and nothing but it."""
    try:
        json.loads(response)
    except (json.JSONDecodeError, RecursionError) as error:
        return MetricResult("fail", f"no JSON: {error}")
    return MetricResult("pass", "valid JSON")


READY_METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (exact_match, string_presence, json_validity)
}
"""The ready metrics by name."""
