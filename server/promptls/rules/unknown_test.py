"""A test that Jinja does not have.

## What it does

Reports tests other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so
tests of Ansible or Django are not there.

## Why is this bad?

Loading the template fails; inside a branch of an `if`, rendering fails when the branch is taken.

## Example

```yaml
- name: ticket
  content: |
    {{ text is definde }}
               ^^^^^^^ unknown-test: Jinja has no test `definde`; did you mean `defined`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text is defined }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.builtins import TESTS
from promptls.syntax.jinja.nodes import Test
from promptls.syntax.jinja.problems import expressions_in


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The tests in the chunk's tags that Jinja does not know."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Test) and node.name and node.name not in TESTS:
            message = f"Jinja has no test `{node.name}`"
            yield misspelt(node.name_span.shifted(start), message, node.name, TESTS)


RULE = Rule(
    name="unknown-test",
    summary="a test that Jinja does not have",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
