"""An input that is declared and never read.

## What it does

Reports names in `input_keys` that neither the file nor anything it includes reads. Nothing
is said where an include cannot be followed, because it could read them.

## Why is this bad?

The caller goes to the trouble of passing a value that never reaches the model; often the
template misspells it.

## Example

```yaml
{#---
input_keys: [text, locale]
                   ^^^^^^ unused-input: nothing reads the input `locale`
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

from promptls.lint.analysis.call_objections import expected_keys
from promptls.lint.analysis.undeclared import undeclared_readings
from promptls.lint.analysis.unread_names import may_be_read_in_broken_text
from promptls.lint.fixes.inputs import removed_input
from promptls.lint.rule import FileContext, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.workspace.contract import contract_of


def check(context: FileContext) -> Iterator[Finding]:
    """Yield the input keys that nothing reads."""
    inputs = context.template.declarations.inputs
    if not inputs:
        return
    contract = contract_of(context.snapshot, context.path)
    if not contract.is_whole:
        return
    unread = [key for key in inputs if key.name not in contract.names and key.name not in INJECTED]
    if not unread:
        return
    expected = expected_keys(context.template)
    # A misspelt name is one mistake, and is found where it stands.
    expected |= {meant for _, meant, _ in undeclared_readings(context) if meant is not None}
    for key in unread:
        header = context.template.declarations.span
        if key.name not in expected and not may_be_read_in_broken_text(context, key.name, header):
            message = f"nothing reads the input `{key.name}`"
            yield Finding(key.span, message, removed_input(context, key), unnecessary=True)


RULE = Rule(
    name="unused-input",
    summary="input that is declared but never read",
    severity="warning",
    module=__name__,
    kinds=frozenset({Kind.PARTS}),
    check=check,
)
