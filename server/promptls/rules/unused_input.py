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

from promptls.meaning.kind import Kind
from promptls.meaning.scopes import INJECTED
from promptls.rules.facts.aspects import declarations, files, names, problems, references
from promptls.rules.facts.expected_keys import expected_keys
from promptls.rules.facts.undeclared_readings import undeclared_readings
from promptls.rules.facts.unread_names import may_be_read_in_broken_text
from promptls.rules.fixes.removed_input import removed_input
from promptls.rules.rule import FileContext, Finding, Rule
from promptls.workspace.contract import contract_of


def check(context: FileContext) -> Iterator[Finding]:
    """The input keys that nothing reads."""
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


def _expected(context: FileContext) -> object:
    """The data that the parts say they expect, as an aspect of the file."""
    return expected_keys(context.template)


RULE = Rule(
    name="unused-input",
    summary="an input that is declared and never read",
    severity="warning",
    module=__name__,
    kinds=frozenset({Kind.PARTS}),
    check=check,
    looks_at=(declarations, names, references, problems, files, _expected),
)
