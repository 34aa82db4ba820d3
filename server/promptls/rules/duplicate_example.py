"""An example whose inputs another example has.

## What it does

Reports entries of `examples` that have the same inputs as an earlier one.

## Why is this bad?

It costs tokens and teaches nothing new; with another output it contradicts.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: Shipping}
  - {text: Where is my order?, response: Shipping}
     ^^^^ duplicate-example: example 2 has the inputs of example 1
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
  - {text: Where is my order?, response: Shipping}
  - {text: My card was charged twice., response: Billing}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from promptls.meaning.canonical import canonical_text
from promptls.rules.aspects import declarations
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, RelatedPlace, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The examples whose inputs stood before."""
    output = context.template.declarations.data.get("output_key")
    seen: dict[str, tuple[int, Any]] = {}
    for number, example in enumerate(context.template.declarations.examples, start=1):
        inputs = {key: value for key, value in example.data.items() if key != output}
        key = canonical_text(inputs)
        span = example.entries[0].key.span if example.entries else example.span
        if inputs and key in seen:
            earlier, place = seen[key]
            related = RelatedPlace(context.path, place, f"example {earlier}")
            yield Finding(span, f"example {number} has the inputs of example {earlier}", related=(related,))
        seen.setdefault(key, (number, span))


RULE = Rule(
    name="duplicate-example",
    summary="an example whose inputs another example has",
    severity="warning",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
    looks_at=(declarations,),
)
