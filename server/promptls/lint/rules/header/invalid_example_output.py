"""Example output that does not match the declared output.

## What it does

With `output_type: json`, reports outputs that are text but not valid JSON; with an `output_schema`,
outputs that do not match it.

## Why is this bad?

Ragas refuses the prompt, and the model learns a wrong output format from the example.

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
from typing import Any, Final, NamedTuple

from promptls.dialects.ragas.prompt_object import schema_in_instruction
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule, Severity, each_example
from promptls.semantic.header import Example
from promptls.semantic.object_data import holds_printed
from promptls.semantic.types.schemas import schema_fault
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Node, key_text, node_at
from promptls.text.errors import parse_json, trailing_comma

_OWN: Final = "`output_schema`"


class _Requirements(NamedTuple):
    """The requirements for outputs: the key they are under, and their type and schema."""

    output: str
    is_json: bool
    schema: dict[str, Any] | None
    source: str
    """Where the schema is declared."""


def _requirements(file: File) -> _Requirements | None:
    """Return the requirements of the file; None if there is nothing to check."""
    data = file.template.declarations.data
    output = data.get("output_key")
    schema = data.get("output_schema") or schema_in_instruction(data.get("output_format_instruction"))
    is_json = str(data.get("output_type", "")).lower() == "json"
    if not isinstance(output, str) or not (is_json or isinstance(schema, dict)):
        return None
    source = _OWN if data.get("output_schema") else "the schema in `output_format_instruction`"
    return _Requirements(output, is_json, schema if isinstance(schema, dict) else None, source)


@each_example(_requirements)
def check(_source: Source, example: Example, required: _Requirements) -> Iterator[Finding]:
    """Yield the output of an example if it is not valid JSON or does not match the schema."""
    node = _value_node(example, required.output)
    if node is None or holds_printed(node):
        return
    span = node.span
    value = example.data.get(required.output)
    if isinstance(value, str) and required.is_json:
        try:
            value = parse_json(value)
        except ValueError as error:
            message = f"the output of example {example.number} is not valid JSON: {_reason(error)}"
            yield Finding(span, message)
            return
    if required.schema is None:
        return
    wrong, path = schema_fault(value, required.schema)
    if wrong:
        wrong_span = node_at(node, path).span
        message = f"the output of example {example.number} does not fit {required.source}: {wrong}"
        # Ragas shows the schema to the model, and does not check the examples against it.
        severity: Severity | None = None if required.source == _OWN else "hint"
        yield Finding(span if wrong_span.is_empty() else wrong_span, message, severity=severity)


def _value_node(example: Example, key: str) -> Node | None:
    return next((entry.value for entry in example.entries if key_text(entry) == key), None)


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        comma = trailing_comma(error)
        if comma is not None:
            return f"a comma after the last entry at character {comma}"
        return f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.pos}"
    return str(error)


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
