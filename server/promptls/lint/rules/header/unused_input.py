"""Input that is declared but never read.

## What it does

Reports names in `input_keys` that neither the file nor anything it includes reads. Nothing is reported
if an include cannot be resolved, because the included file could read them.

## Why is this bad?

The caller passes a value that never reaches the model. Often the template misspells the name.

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

from promptls.lint.analysis.call_problems import expected_keys
from promptls.lint.analysis.unmatched_names import may_be_read_in_broken_text, undeclared_references
from promptls.lint.fixes.yaml_edits import removed_input
from promptls.lint.rule import File, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.workspace.contract import contract_of


def check(file: File) -> Iterator[Finding]:
    """Yield the input keys that are never read."""
    inputs = file.template.declarations.inputs
    if not inputs:
        return
    contract = contract_of(file.snapshot, file.path)
    if not contract.is_whole:
        return
    unread = [key for key in inputs if key.name not in contract.names and key.name not in INJECTED]
    if not unread:
        return
    expected = expected_keys(file.template)
    # A misspelled name is reported once, where it is used.
    expected |= {meant for _, meant, _ in undeclared_references(file) if meant is not None}
    for key in unread:
        header = file.template.declarations.span
        if key.name not in expected and not may_be_read_in_broken_text(file, key.name, header):
            message = f"nothing reads the input `{key.name}`"
            yield Finding(key.span, message, removed_input(file, key), unnecessary=True)


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS}))
