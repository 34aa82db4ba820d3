"""File that includes itself, directly or not.

## What it does

Reports includes, imports and `extends` that lead back to the file that contains them, if each tag on the
path is outside of conditions, loops and macros.

## Why is this bad?

Rendering never ends: Jinja fails with a recursion error.

## Example

```yaml
{% include "main.yml.j2" %}
           ^^^^^^^^^^^^^ include-cycle: this include leads back to this file
- name: rules
  content: Be brief.
```

Use instead:

```yaml
{% if again %}{% include "main.yml.j2" %}{% endif %}
- name: rules
  content: Be brief.
```
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule
from promptls.workspace.snapshot import Snapshot


def check(file: File) -> Iterator[Finding]:
    """Yield the references that certainly lead back to the file."""
    for reference in file.template.references:
        target = file.snapshot.resolve(file.path, reference)
        if target is None or reference.alternatives or reference.is_choice:
            continue
        chain = _path_back(file.snapshot, target, file.path)
        if chain is not None and file.template.branches.is_unconditional(reference.span.start):
            over = f" over {', '.join(f'`{Path(path).name}`' for path in chain)}" if chain else ""
            yield Finding(reference.span, f"this {reference.keyword} leads back to this file{over}")


def _path_back(snapshot: Snapshot, start: str, goal: str) -> list[str] | None:
    """Return the files between `start` and `goal` on a path of certain includes; None if there is none."""
    paths: dict[str, list[str]] = {start: [] if start == goal else [start]}
    waiting = [start]
    while waiting:
        current = waiting.pop(0)
        if current == goal:
            return paths[current]
        template = snapshot.template(current)
        for reference in template.references if template else ():
            is_certain = template is not None and template.branches.is_unconditional(reference.span.start)
            if not is_certain or reference.is_choice:
                continue
            target = snapshot.resolve(current, reference)
            if target and target not in paths:
                paths[target] = paths[current] if target == goal else [*paths[current], target]
                waiting.append(target)
    return None


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
