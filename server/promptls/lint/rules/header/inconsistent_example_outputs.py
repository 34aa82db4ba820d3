"""Example outputs with different structures.

## What it does

Reports an example whose output has a different type than that of the first example, or is a mapping with
different keys.

## Why is this bad?

The model cannot tell which form of output is expected.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: {label: Shipping}}
  - {text: My card was charged twice., response: {labels: [Billing]}}
                                                 ^^^^^^^^^^^^^^^^^^^ inconsistent-example-outputs: the output of example 2 has the keys `labels`; that of example 1 has the keys `label`
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
examples:
  - {text: Where is my order?, response: {label: Shipping}}
  - {text: My card was charged twice., response: {label: Billing}}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.semantic.header import Example, example_fact
from promptls.syntax.yaml.nodes import key_text
from promptls.text.errors import parse_json


def check(file: File) -> Iterator[Finding]:
    """Yield the outputs whose form differs from that of the first output."""
    data = file.template.declarations.data
    output = data.get("output_key")
    if not isinstance(output, str):
        return
    is_json = str(data.get("output_type", "")).lower() == "json"
    schema = data.get("output_schema")
    has_schema = (
        isinstance(schema, dict) and "properties" in schema
    )  # `invalid-example-output` checks the keys
    first, first_number = None, 0
    for example in file.template.declarations.examples:
        form = _output_form(example, output, is_json)
        if form is None or (is_json and form == "text"):
            continue  # `invalid-example-output` reports invalid JSON
        if first is None:
            first, first_number = form, example.number
        elif form != first and not (has_schema and {form[:8], first[:8]} == {"the keys"}):
            entry = next(entry for entry in example.entries if key_text(entry) == output)
            message = f"the output of example {example.number} has {form}; that of example {first_number} has {first}"
            yield Finding(entry.value.span, message)


@example_fact
def _output_form(example: Example, output: str, is_json: bool) -> str | None:
    """Return the form of the example's output; None if there is none or it contains Jinja."""
    if all(key_text(entry) != output for entry in example.entries) or example.is_printed(output):
        return None
    return _form(example.data.get(output), is_json=is_json)


def _form(value: Any, *, is_json: bool) -> str:
    """Return a description of the form of an output."""
    if is_json and isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return "text"
    if isinstance(value, dict):
        if not value:
            return "no keys"
        return f"the keys {', '.join(f'`{key}`' for key in sorted(map(str, value)))}"
    return (
        "a list"
        if isinstance(value, list)
        else "text"
        if isinstance(value, str)
        else "a value that is not a text"
    )


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
