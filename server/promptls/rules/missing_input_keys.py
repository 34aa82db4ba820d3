"""A prompt object without `input_keys`.

## What it does

Reports a prompt object at whose top level `input_keys` is missing.

## Why is this bad?

Ragas refuses it: without its inputs a prompt object cannot be formatted.

## Example

```yaml
instruction: Answer the question.
^^^^^^^^^^^ missing-input-keys: this prompt object has no `input_keys`
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.missing_instruction import missing_top_key
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule


def check(context: FileContext) -> Iterator[Finding]:
    """A finding at the first key of an object without the key."""
    yield from missing_top_key(context, "input_keys")


RULE = Rule(
    name="missing-input-keys",
    summary="a prompt object without `input_keys`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
