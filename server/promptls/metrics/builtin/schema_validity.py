"""Check that the response is JSON that matches a JSON Schema.

The schema is the option `schema` or the prompt's `output_schema`. There is no score if the schema refers to
other documents, which are not fetched, or if validation takes longer than three seconds.

| response | schema | score |
| --- | --- | --- |
| `'{"p": 1}'` | `{type: object, required: [p]}` | `pass` |
| `'{"q": 1}'` | `{type: object, required: [p]}` | `fail` |
| `no JSON` | `{type: object}` | `fail` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import NoJsonError, json_of
from promptls.semantic.types.schemas import RUN_SECONDS, SchemaCheck, UndecidedError


@discrete_metric()
def schema_validity(
    response: str, schema: dict[str, Any] | None = None, output_schema: dict[str, Any] | None = None
) -> MetricResult:
    """Return `pass` if the response is JSON that matches the schema; no score without a schema."""
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
