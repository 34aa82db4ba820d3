"""A role that no model knows.

## What it does

Reports a written-out `role` that is not among the setting `roles`.

## Why is this bad?

Prompt Poet passes any role on; the provider then refuses the message.

## Example

```yaml
- name: instructions
  role: sytem
        ^^^^^ unknown-role: no model knows the role `sytem`; did you mean `system`?
  content: You are helpful.
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You are helpful.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.parts import chunk_items
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The roles of the chunk's parts that are not among the known ones."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value = entry.value
            if not (isinstance(entry.key, Scalar) and entry.key.text == "role" and isinstance(value, Scalar)):
                continue
            if value.dynamic or value.span.is_empty() or value.text in project.roles:
                continue
            message = f"no model knows the role `{value.text}`"
            yield misspelt(value.span, message, value.text, project.roles)


RULE = Rule(
    name="unknown-role",
    summary="a role that no model knows",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
