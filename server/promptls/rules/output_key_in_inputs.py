"""An output key that is also an input.

## What it does

Reports an `output_key` that stands among `input_keys`.

## Why is this bad?

The answer would be given away with the question.

## Example

```yaml
{#---
input_keys: [text, response]
output_key: response
            ^^^^^^^^ output-key-in-inputs: `response` is an input as well
---#}
- name: ticket
  content: |
    {{ text }} {{ response }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The output key, where it is an input."""
    declarations = context.template.declarations
    output = declarations.data.get("output_key")
    span = declarations.value_span("output_key")
    if span is not None and any(key.name == output for key in declarations.inputs or ()):
        yield Finding(span, f"`{output}` is an input as well")


RULE = Rule(
    name="output-key-in-inputs",
    summary="an output key that is also an input",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
