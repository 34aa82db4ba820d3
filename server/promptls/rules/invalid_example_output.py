"""An example whose output is not what the prompt asks for.

## What it does

With `output_type: json`, reports outputs that are text and no JSON; with an
`output_schema`, outputs that do not fit it.

## Why is this bad?

Ragas refuses the prompt, and the model learns a wrong form from its best teacher.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
output_type: json
examples:
  - text: My card was charged twice.
    response: "{labels: Billing}"
              ^^^^^^^^^^^^^^^^^^^ invalid-example-output: the output of example 1 is not valid JSON: expecting property name enclosed in double quotes at character 1
---#}
- name: ticket
  content: |
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
output_type: json
examples:
  - text: My card was charged twice.
    response: {labels: [Billing]}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from promptls.meaning.header import Example
from promptls.meaning.schema_error import schema_error
from promptls.rules.aspects import declarations
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule
from promptls.syntax.yaml.nodes import key_text
from promptls.text.span import Span


def check(context: FileContext) -> Iterator[Finding]:
    """The outputs of examples that are no JSON, or do not fit the schema."""
    data = context.template.declarations.data
    output = data.get("output_key")
    schema = data.get("output_schema")
    is_json = str(data.get("output_type", "")).lower() == "json"
    if not isinstance(output, str) or not (is_json or isinstance(schema, dict)):
        return
    for number, example in enumerate(context.template.declarations.examples, start=1):
        span = _value_span(example, output)
        if span is None:
            continue
        value = example.data.get(output)
        if isinstance(value, str) and is_json:
            try:
                value = json.loads(value)
            except ValueError as error:
                yield Finding(span, f"the output of example {number} is not valid JSON: {_reason(error)}")
                continue
        if isinstance(schema, dict) and (wrong := schema_error(value, schema)):
            yield Finding(span, f"the output of example {number} does not fit `output_schema`: {wrong}")


def _value_span(example: Example, key: str) -> Span | None:
    return next((entry.value.span for entry in example.entries if key_text(entry) == key), None)


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.pos}"
    return str(error)


RULE = Rule(
    name="invalid-example-output",
    summary="an example whose output is not what the prompt asks for",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
    looks_at=(declarations,),
)
