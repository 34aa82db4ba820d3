"""An input whose name Prompt Poet keeps for itself.

## What it does

Reports `token_limit` and `escape_special_characters` among `input_keys`.

## Why is this bad?

Prompt Poet adds both to the data itself, and refuses data that holds them: "`token_limit` is a reserved
key in the template data".

## Example

```yaml
{#---
input_keys: [text, token_limit]
                   ^^^^^^^^^^^ reserved-input: Prompt Poet adds `token_limit` itself and refuses it in the data
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.scopes import INJECTED
from promptls.rules.removed_input import removed_input
from promptls.rules.rule import DECLARING_KINDS, FileContext, Finding, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The declared inputs with a reserved name."""
    for key in context.template.declarations.inputs or ():
        if key.name in INJECTED:
            message = f"Prompt Poet adds `{key.name}` itself and refuses it in the data"
            yield Finding(key.span, message, removed_input(context, key, preferred=True))


RULE = Rule(
    name="reserved-input",
    summary="an input whose name Prompt Poet keeps for itself",
    severity="error",
    module=__name__,
    kinds=DECLARING_KINDS,
    check=check,
)
