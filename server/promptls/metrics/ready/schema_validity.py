"""Whether the response is JSON that a JSON Schema allows.

The schema is the option `schema`, else the prompt's `output_schema`.

| response | schema | score |
| --- | --- | --- |
| `'{"p": 1}'` | `{type: object, required: [p]}` | `pass` |
| `'{"q": 1}'` | `{type: object, required: [p]}` | `fail` |
| `no JSON` | `{type: object}` | `fail` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.decorators import discrete_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import NoJsonError, json_of


@discrete_metric()
def schema_validity(
    response: str, schema: dict[str, Any] | None = None, output_schema: dict[str, Any] | None = None
) -> MetricResult:
    """`pass` where the response is JSON that the schema allows; no score without a schema."""
    import jsonschema

    chosen = schema if schema is not None else output_schema
    if chosen is None:
        return MetricResult(None, "give the option `schema`, or the prompt an `output_schema`")
    try:
        jsonschema.validate(json_of(response), chosen)
    except NoJsonError as error:
        return MetricResult("fail", str(error))
    except jsonschema.SchemaError as error:
        return MetricResult(None, f"the schema is no JSON Schema: {error.message}")
    except jsonschema.ValidationError as error:
        return MetricResult("fail", f"at `{error.json_path}`: {error.message}")
    return MetricResult("pass", "the schema allows it")
