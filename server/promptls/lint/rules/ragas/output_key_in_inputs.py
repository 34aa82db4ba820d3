"""Output key that is also an input.

## What it does

Reports an `output_key` that is also in `input_keys`.

## Why is this bad?

The answer would be passed to the model with the question.

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

from promptls.lint.fixes.yaml_edits import removed_item, without_entry
from promptls.lint.rule import DECLARING_KINDS, Edit, File, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Mapping, Sequence, scalar_text


def check(file: File) -> Iterator[Finding]:
    """Yield the output key if it is also an input."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    span = declarations.value_span("output_key")
    if span is not None and any(key.name == output for key in declarations.inputs or ()):
        edit = _without(file, str(output))
        fixes = () if edit is None else (Fix(f"Remove `{output}` from `input_keys`", (edit,)),)
        yield Finding(span, f"`{output}` is an input as well", fixes)


def _without(file: File, name: str) -> Edit | None:
    """Return the edit that removes the name from the inputs."""
    tree = file.template.declarations.tree
    keys = tree.merged("input_keys") if tree else None
    if isinstance(keys, Sequence):
        item = next(item for item in keys.items if scalar_text(item) == name)
        return removed_item(file.template.source.text, keys, item)
    entry = keys.entry(name) if isinstance(keys, Mapping) else None
    if not isinstance(keys, Mapping) or entry is None:
        return None
    return without_entry(file.template.source.whole, keys.span, keys.entries, entry)


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
