"""A prompt object without `output_key`.

## What it does

Reports a prompt object at whose top level `output_key` is missing.

## Why is this bad?

Ragas refuses it: nothing says under which key the model's answer stands in the examples.

## Example

```yaml
instruction: Answer the question.
^^^^^^^^^^^ missing-output-key: this prompt object has no `output_key`
input_keys: [question]
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
    yield from missing_top_key(context, "output_key")


RULE = Rule(
    name="missing-output-key",
    summary="a prompt object without `output_key`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
