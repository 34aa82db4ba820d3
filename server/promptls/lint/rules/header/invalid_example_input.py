"""Example input that does not match `input_keys`.

## What it does

Compares the inputs of each example with their JSON Schemas in `input_keys`: types, `enum`, limits and
all other keywords.

## Why is this bad?

The example shows the model, and the readers of the prompt, data that no caller passes. A preview with it
shows a prompt that is never sent, or fails.

## Example

```yaml
{#---
input_keys:
  text: {type: string}
  stars: {type: integer}
output_key: label
examples:
  - {text: Never again., stars: one, label: bad}
                                ^^^ invalid-example-input: `stars` of example 1 does not match its declaration: 'one' is not of type 'integer'
---#}
- name: review
  content: |
    {{ stars }} stars: {{ escape_special_characters(text) }}
```

Use instead:

```yaml
{#---
input_keys:
  text: {type: string}
  stars: {type: integer}
output_key: label
examples:
  - {text: Never again., stars: 1, label: bad}
---#}
- name: review
  content: |
    {{ stars }} stars: {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from promptls.lint.analysis.declared_types import declared_types, is_of_type, plainly_fits
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule, each_example
from promptls.semantic.header import Example
from promptls.semantic.object_data import holds_printed
from promptls.semantic.types.schemas import schema_fault
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import key_text, node_at
from promptls.text.positions import Span

_MIN_EXAMPLES: Final = 2
"""The minimum number of examples that show a declaration to be wrong."""


def _schemas(file: File) -> dict[str, dict[str, Any]] | None:
    """Return the schemas of the inputs; None if none has a schema."""
    declared = file.template.declarations
    contradicted = dict(_contradicted(file))
    schemas = {key.name: key.schema for key in declared.inputs or () if key.name not in contradicted}
    return {name: schema for name, schema in schemas.items() if schema} or None


def _contradicted(file: File) -> Iterator[tuple[str, Span]]:
    """Yield the inputs of whose type no example has a value, each with the span of the type."""
    declarations = file.template.declarations
    for key in declarations.inputs or ():
        types = declared_types(key.schema)
        span = declarations.value_span("input_keys", key.name, "type")
        if types is None or span is None:
            continue
        values = [example.data[key.name] for example in declarations.examples if key.name in example.data]
        printed = any(example.is_printed(key.name) for example in declarations.examples)
        if (
            len(values) >= _MIN_EXAMPLES
            and not printed
            and not any(is_of_type(each, types) for each in values)
        ):
            yield key.name, span


def check(file: File) -> Iterator[Finding]:
    """Yield the declared types that all examples contradict, and the inputs that do not match a schema."""
    for name, span in _contradicted(file):
        yield Finding(span, f"no example has a value of this type for `{name}`")
    yield from _in_examples(file)


@each_example(_schemas)
def _in_examples(
    _source: Source, example: Example, schemas: Mapping[str, dict[str, Any]]
) -> Iterator[Finding]:
    """Yield the inputs of an example that do not match their schemas."""
    for entry in example.entries:
        name = key_text(entry)
        if name not in schemas or name not in example.data or holds_printed(entry.value):
            continue
        value = example.data[name]
        if plainly_fits(value, schemas[name]):
            continue
        wrong, path = schema_fault(value, schemas[name])
        if wrong and isinstance(value, date):
            wrong = "YAML reads it as a date; quote it"
        if wrong:
            wrong_span = node_at(entry.value, path).span
            span = entry.key.span if wrong_span.is_empty() else wrong_span
            yield Finding(
                span, f"`{name}` of example {example.number} does not match its declaration: {wrong}"
            )


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
