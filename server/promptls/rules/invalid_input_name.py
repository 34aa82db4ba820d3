"""An input of a prompt object whose name cannot be filled in.

## What it does

Reports an input of a prompt object with `.`, `[`, `]`, `{`, `}`, `!` or `:` in its name, and one
whose name is empty, a number, or `self`.

## Why is this bad?

Ragas fills the inputs in with Python's `str.format`, which takes `{a.b}` for an attribute of
`a`: formatting the prompt raises a `KeyError`. `self` is the prompt itself in its `format`.

## Example

```yaml
instruction: Answer the question.
input_keys: [user.question]
             ^^^^^^^^^^^^^ invalid-input-name: `str.format` cannot fill in an input of this name
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [user_question]
output_key: answer
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.facts.aspects import declarations
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule

_BAD: Final = re.compile(r"[.\[\]{}!:]|^\d*$")


def check(context: FileContext) -> Iterator[Finding]:
    """The names that Python would read as something else."""
    refused = {problem.span for problem in context.template.declarations.problems}
    for key in context.template.declarations.inputs or ():
        if key.span in refused:
            continue  # a name that is no text is told by `invalid-header`
        if key.name == "self":
            yield Finding(key.span, "`Prompt.format` takes no input of this name: `self` is the prompt")
        elif _BAD.search(key.name):
            yield Finding(key.span, "`str.format` cannot fill in an input of this name")


RULE = Rule(
    name="invalid-input-name",
    summary="an input of a prompt object whose name cannot be filled in",
    severity="warning",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
    looks_at=(declarations,),
)
