"""YAML under the Jinja that cannot be loaded.

## What it does

Takes the Jinja out of the template, branch by branch, and reports what libyaml, which
Prompt Poet loads with, refuses in the rest. Where a printed value could make the text
right, nothing is said.

## Why is this bad?

The rendered text is no YAML, and the prompt fails when it is used.

## Example

```yaml
- name: system
  content: |
    You are helpful.
  role system
  ^^^^^^^^^^^ yaml-syntax: expected `:` behind this key; text of a block scalar must be indented more than its key
```

Use instead:

```yaml
- name: system
  content: |
    You are helpful.
  role: system
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.fixes.yaml_fixes import yaml_fixes
from promptls.rules.jinja_syntax import syntax_findings
from promptls.rules.rule import YAML_KINDS, FileContext, Finding, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """The YAML errors of the file."""
    yield from syntax_findings(context, "yaml", yaml_fixes)


RULE = Rule(
    name="yaml-syntax",
    summary="YAML under the Jinja that cannot be loaded",
    severity="error",
    module=__name__,
    kinds=YAML_KINDS,
    check=check,
)
