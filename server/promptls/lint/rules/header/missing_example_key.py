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

from promptls.lint.analysis.example_names import declared_keys, renamed_key, required_keys
from promptls.lint.fixes.yaml_edits import added_entry
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Fix, Rule, each_example
from promptls.semantic.header import Example
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import key_text
from promptls.text.suggest import nearest


def _keys(file: File) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the required and the declared keys of examples; None if none is required."""
    required = required_keys(file)
    return (required, declared_keys(file) or ()) if required else None


@each_example(_keys)
def check(
    source: Source, example: Example, keys: tuple[tuple[str, ...], tuple[str, ...]]
) -> Iterator[Finding]:
    """Yield the required keys that an example lacks, at a key that replaces the only one, or at its first."""
    required, known = keys
    missing = [name for name in required if name not in example.data]
    if not missing or example.has_printed_keys:
        return
    renamed = renamed_key(example, required, known) if known else None
    if renamed is not None:
        entry, name = renamed
        message = f"example {example.number} has no `{name}`, but `{key_text(entry)}`"
        yield Finding(entry.key.span, message, (Fix.change_to(entry.key.span, name),))
        return
    unknown = [str(key) for key in example.data if key not in required]
    for name in missing:
        # `unknown-example-key` reports a misspelled key.
        if nearest(name, unknown) is None:
            edit = added_entry(source.text, example.span, example.entries, f"{name}: null")
            fixes = () if edit is None else (Fix(f"Add `{name}`, to be filled in", (edit,)),)
            yield Finding(example.first_key, f"example {example.number} has no `{name}`", fixes)


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
