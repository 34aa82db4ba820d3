"""Example without an input or the output.

## What it does

Reports entries of `examples` without one of the `input_keys`, or without the `output_key`.

## Why is this bad?

Ragas refuses the prompt ("example 1 does not have the variable …"), and an example without its answer
teaches the model nothing.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - text: My card was charged twice.
    ^^^^ missing-example-key: example 1 has no `response`
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
  - text: My card was charged twice.
    response: Billing
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.example_names import misnamed_keys
from promptls.lint.fixes.yaml_edits import added_entry
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Fix, Rule, each_example
from promptls.semantic.header import Example
from promptls.syntax.source import Source
from promptls.text.suggest import nearest


def _names(file: File) -> tuple[str, ...] | None:
    """Return the required keys of examples; None if there are none."""
    declarations = file.template.declarations
    required = [key.name for key in declarations.inputs or () if "default" not in key.schema]
    output = declarations.data.get("output_key")
    if isinstance(output, str) and output:
        required.append(output)
    misnamed = dict(misnamed_keys(file))  # `unknown-example-key` reports these at their declaration
    return tuple(dict.fromkeys(name for name in required if name not in misnamed)) or None


@each_example(_names)
def check(source: Source, example: Example, required: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the required keys that an example lacks, at its first key."""
    missing = [name for name in required if name not in example.data]
    if not missing or example.has_printed_keys:
        return
    unknown = [str(key) for key in example.data if key not in required]
    for name in missing:
        # `unknown-example-key` reports a misspelled key.
        if nearest(name, unknown) is None:
            edit = added_entry(source.text, example.span, example.entries, f"{name}: null")
            fixes = () if edit is None else (Fix(f"Add `{name}`, to be filled in", (edit,)),)
            yield Finding(example.first_key, f"example {example.number} has no `{name}`", fixes)


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
