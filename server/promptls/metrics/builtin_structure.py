"""Built-in metrics that look at JSON, at sets, and at what an answer took.

Their docstrings are pages of the documentation, as in `metrics/builtin_text.py`.
"""

from __future__ import annotations

from typing import Any, Final

from promptls.metrics.metric import MetricResult, discrete_metric, numeric_metric
from promptls.metrics.values import ABSENT, NoJsonError, field_of, item_set, json_of, same_value
from promptls.semantic.types.schemas import RUN_SECONDS, SchemaCheck, UndecidedError
from promptls.text.format import in_dollars, plural


@discrete_metric()
def json_validity(response: str) -> MetricResult:
    """Check that the response is valid JSON without other text.

    | response | score |
    | --- | --- |
    | `'{"a": 1}'` | `pass` |
    | `'Here it is: {"a": 1}'` | `fail` |
    """
    try:
        json_of(response)
    except NoJsonError as error:
        return MetricResult("fail", str(error))
    return MetricResult("pass", "valid JSON")


@discrete_metric()
def schema_validity(
    response: str, schema: dict[str, Any] | None = None, output_schema: dict[str, Any] | None = None
) -> MetricResult:
    """Check that the response is JSON that matches a JSON Schema.

    The schema is the option `schema` or the prompt's `output_schema`. There is no score if the schema refers
    to other documents, which are not fetched, or if validation takes longer than three seconds.

    | response | schema | score |
    | --- | --- | --- |
    | `'{"p": 1}'` | `{type: object, required: [p]}` | `pass` |
    | `'{"q": 1}'` | `{type: object, required: [p]}` | `fail` |
    | `no JSON` | `{type: object}` | `fail` |
    """
    from jsonschema.exceptions import best_match

    chosen = schema if schema is not None else output_schema
    if chosen is None:
        return MetricResult(None, "give the option `schema`, or the prompt an `output_schema`")
    try:
        error = best_match(SchemaCheck(chosen, RUN_SECONDS).errors(json_of(response)))
    except NoJsonError as no_json:
        return MetricResult("fail", str(no_json))
    except UndecidedError as undecided:
        return MetricResult(None, str(undecided))
    if error is not None:
        return MetricResult("fail", f"at `{error.json_path}`: {error.message}")
    return MetricResult("pass", "the schema allows it")


@numeric_metric()
def json_field_match(response: str, expected: object, field: str | None = None) -> MetricResult:
    """Score the share of the expected fields that are right in a JSON response.

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
    try:
        given = json_of(response)
    except NoJsonError as error:
        return MetricResult(0.0, str(error))
    fields = {field: expected} if field is not None else _mapping(expected)
    if not fields:
        return MetricResult(None, "`expected` is not a mapping with fields: name one with the option `field`")
    wrong = [
        f"`{name}` is {_shown(value)}, expected {_shown(should)}"
        for name, should in fields.items()
        if not same_value(value := field_of(given, name), should)
    ]
    return MetricResult(1 - len(wrong) / len(fields), "; ".join(wrong) or "every field is right")


def _mapping(expected: object) -> dict[str, Any] | None:
    if isinstance(expected, str):
        try:
            expected = json_of(expected)
        except NoJsonError:
            return None
    return expected if isinstance(expected, dict) else None


def _shown(value: object) -> str:
    return "missing" if value is ABSENT else f"“{value}”"


@discrete_metric()
def set_match(response: str, expected: object) -> MetricResult:
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
    found, required = item_set(response), item_set(expected)
    problems = [
        f"{word}: {', '.join(sorted(items))}"
        for word, items in (("missing", required - found), ("too many", found - required))
        if items
    ]
    return MetricResult("fail", "; ".join(problems)) if problems else MetricResult("pass", "the same set")


@numeric_metric()
def set_f1(response: str, expected: object) -> MetricResult:
    """Compare the items of the response with the expected set: F1.

    Sets are read as in `set_match`. 1 means equal sets, 0 no common item.

    | response | expected | score |
    | --- | --- | --- |
    | `Account, Billing` | `[Billing, Account]` | `1` |
    | `Account, Bug` | `Account` | `0.667` |
    | `Bug` | `Account` | `0` |
    """
    found, required = item_set(response), item_set(expected)
    if not found and not required:
        return MetricResult(1.0, "both are empty")
    common = len(found & required)
    return MetricResult(
        2 * common / (len(found) + len(required)), f"{common} of {len(required)} expected items"
    )


_UNKNOWN: Final = MetricResult(None, "it is not known")


@numeric_metric(allowed_values=None, lower_is_better=True)
def latency(seconds: float | None) -> MetricResult:
    """Count the seconds that the model took to answer; less is better.

    The time of a cached answer is that of the original request.

    | seconds | score |
    | --- | --- |
    | `0.25` | `0.25` |
    """
    return _UNKNOWN if seconds is None else MetricResult(seconds, plural(seconds, "second"))


@numeric_metric(allowed_values=None, lower_is_better=True)
def total_tokens(tokens: float | None) -> MetricResult:
    """Count the tokens of prompt and answer together; less is better.

    The provider counts them.

    | tokens | score |
    | --- | --- |
    | `120` | `120` |
    """
    return _UNKNOWN if tokens is None else MetricResult(tokens, f"{tokens:g} tokens")


@numeric_metric(allowed_values=None, lower_is_better=True)
def cost(cost: float | None) -> MetricResult:
    """Measure the cost of the answer in US dollars; less is better.

    Rows have no score if the price of the model is unknown.

    | cost | score |
    | --- | --- |
    | `0.002` | `0.002` |
    """
    return _UNKNOWN if cost is None else MetricResult(cost, in_dollars(cost))
