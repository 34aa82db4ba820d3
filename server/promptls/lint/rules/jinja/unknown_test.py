"""Unknown Jinja test.

## What it does

Reports tests other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so tests of
Ansible or Django are not available.

## Why is this bad?

Loading the template fails. In a branch of an `if`, or in a conditional expression, rendering only fails
when the test is reached: that is a warning.

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
from typing import Final

from promptls.lint.analysis.unknown_in_jinja import Unknown
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule
from promptls.syntax.jinja.builtins import TESTS
from promptls.syntax.jinja.nodes import Test

_UNKNOWN: Final = Unknown(Test, "test", TESTS)


def check(file: File) -> Iterator[Finding]:
    """Yield the tests in the file's tags that Jinja does not have."""
    yield from _UNKNOWN.check(file)


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
