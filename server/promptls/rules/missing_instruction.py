"""A prompt object without `instruction`.

## What it does

Reports a prompt object at whose top level `instruction` is missing.

## Why is this bad?

Ragas refuses it: there is nothing to ask the model.

## Example

```yaml
input_keys: [question]
^^^^^^^^^^ missing-instruction: this prompt object has no `instruction`
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

from promptls.meaning.kind import top_keys
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule
from promptls.syntax.yaml.nodes import key_text


def check(context: FileContext) -> Iterator[Finding]:
    """A finding at the first key of an object without the key."""
    yield from missing_top_key(context, "instruction")


def missing_top_key(context: FileContext, key: str) -> Iterator[Finding]:
    """A finding at the object's first key where `key` is not among its keys, by its lines if need be."""
    root = context.template.root
    if root is None or not root.entries or key in top_keys(context.template.source):
        return
    if any(key_text(entry) is None for entry in root.entries):
        return
    yield Finding(root.entries[0].key.span, f"this prompt object has no `{key}`")


RULE = Rule(
    name="missing-instruction",
    summary="a prompt object without `instruction`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
