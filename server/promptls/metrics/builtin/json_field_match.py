"""Share of the expected fields that are right in a JSON response.

`expected` is a mapping, or a mapping in JSON; other fields of the response are ignored.
Lists of scalars are compared as sets.

| response | expected | score |
| --- | --- | --- |
| `'{"labels": ["B", "A"], "priority": "P1"}'` | `{labels: [A, B], priority: P1}` | `1` |
| `'{"labels": ["A"], "priority": "P1"}'` | `{labels: [A, B], priority: P1}` | `0.5` |
| `no JSON` | `{priority: P1}` | `0` |

The option `field` compares a single field with `expected`; `a.b` is the field `b` of the field `a`.

| response | field | expected | score |
| --- | --- | --- | --- |
| `'{"priority": "P1"}'` | `priority` | `P1` | `1` |
| `'{"ticket": {"priority": "P1"}}'` | `ticket.priority` | `P2` | `0` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import ABSENT, NoJsonError, field_of, json_of, same_value


@numeric_metric()
def json_field_match(response: str, expected: object, field: str | None = None) -> MetricResult:
    """Return the proportion of expected fields that are correct in the response, from 0 to 1."""
    try:
        given = json_of(response)
    except NoJsonError as error:
        return MetricResult(0.0, str(error))
    wanted = {field: expected} if field is not None else _mapping(expected)
    if not wanted:
        return MetricResult(None, "`expected` is no mapping with fields: name one with the option `field`")
    wrong = [
        f"`{name}` is {_shown(value)}, expected {_shown(should)}"
        for name, should in wanted.items()
        if not same_value(value := field_of(given, name), should)
    ]
    return MetricResult(1 - len(wrong) / len(wanted), "; ".join(wrong) or "every field is right")


def _mapping(expected: object) -> dict[str, Any] | None:
    if isinstance(expected, str):
        try:
            expected = json_of(expected)
        except NoJsonError:
            return None
    return expected if isinstance(expected, dict) else None


def _shown(value: object) -> str:
    return "missing" if value is ABSENT else f"“{value}”"
