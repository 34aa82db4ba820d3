"""A prompt object whose `examples` is null.

## What it does

Reports an `examples` of a prompt object that holds nothing, not even an empty list.

## Why is this bad?

Ragas refuses it: "none is not an allowed value".

## Example

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
examples:
^^^^^^^^ null-examples: `examples` is null: write `[]`, or leave it out
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
examples: []
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.facts.aspects import declarations
from promptls.rules.fixes.mapping_edits import colon_end
from promptls.rules.rule import OBJECT_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.span import Span


def check(context: FileContext) -> Iterator[Finding]:
    """The key without a list."""
    root = context.template.root
    entry = root.entry("examples") if root else None
    if (
        entry is None
        or not isinstance(entry.value, Scalar)
        or entry.value.dynamic
        or entry.value.tag != "null"
    ):
        return
    span = entry.value.span
    if span.is_empty():
        missing = Span(entry.key.span.end, colon_end(context.template.source.text, entry))
        edit = Edit(missing, ": []")
    else:
        edit = Edit(span, "[]")
    fix = Fix("Write an empty list", (edit,), preferred=True)
    place = entry.key.span if span.is_empty() else span
    yield Finding(place, "`examples` is null: write `[]`, or leave it out", (fix,))


RULE = Rule(
    name="null-examples",
    summary="a prompt object whose `examples` is null",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
    looks_at=(declarations,),
)
