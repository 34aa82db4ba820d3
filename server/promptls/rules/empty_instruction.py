"""A prompt object whose instruction is empty.

## What it does

Reports an `instruction` that is null or holds nothing but white space.

## Why is this bad?

Ragas refuses a missing instruction, and takes an empty one without a word: the model is asked nothing.

## Example

```yaml
instruction: ""
             ^^ empty-instruction: the instruction is empty
input_keys: [question]
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

from promptls.rules.fixes.filled_in import BLANK, value_behind
from promptls.rules.rule import OBJECT_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Entry, Scalar


def check(context: FileContext) -> Iterator[Finding]:
    """The instruction, where there is nothing in it."""
    root = context.template.root
    entry = root.entry("instruction") if root else None
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.dynamic:
        return
    span = entry.value.span
    following = context.template.source.slice(span._replace(end=len(context.template.source))).lstrip()
    is_empty = entry.value.tag == "null" or not entry.value.text.strip()
    if is_empty and not following.startswith(("{{", "{%")):
        yield Finding(
            entry.key.span if span.is_empty() else span, "the instruction is empty", (_fix(context, entry),)
        )


def _fix(context: FileContext, entry: Entry) -> Fix:
    """The fix that writes an instruction where none stands."""
    if entry.value.span.is_empty():
        return value_behind(context.template.source.text, entry, BLANK)
    return Fix(f"Write {BLANK}, to be filled in", (Edit(entry.value.span, BLANK),))


RULE = Rule(
    name="empty-instruction",
    summary="a prompt object whose instruction is empty",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
