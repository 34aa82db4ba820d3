"""Unknown Jinja filter.

## What it does

Reports filters other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so filters of
Ansible or Django are not available.

## Why is this bad?

Loading the template fails. In a branch of an `if`, or in a conditional expression, rendering only fails
when the filter is reached: that is a warning.

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
from typing import Final

from promptls.lint.analysis.unknown_in_jinja import Unknown
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule
from promptls.syntax.jinja.builtins import FILTERS
from promptls.syntax.jinja.nodes import Filter

_UNKNOWN: Final = Unknown(Filter, "filter", FILTERS)


def check(file: File) -> Iterator[Finding]:
    """Yield the filters in the file's tags that Jinja does not have."""
    yield from _UNKNOWN.check(file)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
