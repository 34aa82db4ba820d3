"""A filter that Jinja does not have.

## What it does

Reports filters other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so
filters of Ansible or Django are not there.

## Why is this bad?

Loading the template fails; inside a branch of an `if`, rendering fails when the branch is taken.

## Example

```yaml
- name: ticket
  content: |
    {{ text | uper }}
              ^^^^ unknown-filter: Jinja has no filter `uper`; did you mean `upper`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text | upper }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.builtins import FILTERS
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import expressions_in


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The filters in the chunk's tags that Jinja does not know."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name and node.name not in FILTERS:
            message = f"Jinja has no filter `{node.name}`"
            yield misspelt(node.name_span.shifted(start), message, node.name, FILTERS)


RULE = Rule(
    name="unknown-filter",
    summary="a filter that Jinja does not have",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
