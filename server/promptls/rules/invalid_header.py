"""A header that is not valid, or a key that no header has.

## What it does

Reports YAML errors in the header, keys that promptls does not know, with the nearest one
that it does, and values of the wrong type.

## Why is this bad?

What is misspelt in the header is not seen: the feature that needs it stays off.

## Example

```yaml
{#---
input_kyes: [text]
^^^^^^^^^^ invalid-header: unknown header key `input_kyes`; did you mean `input_keys`?
---#}
- name: ticket
  content: |
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.aspects import declarations
from promptls.rules.rule import DECLARING_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.settings.header import HEADER_KEYS
from promptls.text.nearest import nearest


def check(context: FileContext) -> Iterator[Finding]:
    """What is wrong with the header."""
    for problem in context.template.declarations.problems:
        fixes: tuple[Fix, ...] = ()
        if problem.kind == "unknown-key":
            meant = nearest(context.template.source.slice(problem.span), HEADER_KEYS)
            if meant:
                fixes = (Fix(f"Change to `{meant}`", (Edit(problem.span, meant),), preferred=True),)
        yield Finding(problem.span, problem.message, fixes)


RULE = Rule(
    name="invalid-header",
    summary="a header that is not valid, or a key that no header has",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
    looks_at=(declarations,),
)
