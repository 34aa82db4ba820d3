"""A prompt object without `output_key`.

## What it does

Reports a prompt object at whose top level `output_key` is missing or empty.

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

from promptls.meaning.template import Template
from promptls.rules.missing_instruction import missing_top_key
from promptls.rules.rule import OBJECT_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Scalar


def check(context: FileContext) -> Iterator[Finding]:
    """A finding at the first key of an object without the key, or at a key without a value."""
    name = _name(context.template)
    yield from missing_top_key(context, "output_key", f"output_key: {name}")
    root = context.template.root
    entry = root.entry("output_key") if root else None
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.dynamic:
        return
    if entry.value.tag == "null" or not entry.value.text:
        span = entry.value.span
        edit = Edit(span, f" {name}" if span.is_empty() else name)
        place = entry.key.span if span.is_empty() else span
        yield Finding(
            place, "`output_key` is empty: Ragas refuses that", (Fix(f"Change to `{name}`", (edit,)),)
        )


def _name(template: Template) -> str:
    """The one key of the first example that is no input; `output` where there is no such key."""
    inputs = {key.name for key in template.declarations.inputs or ()}
    examples = template.declarations.examples
    others = (
        [key for key in examples[0].data if isinstance(key, str) and key not in inputs] if examples else []
    )
    return others[0] if len(others) == 1 and inputs else "output"


RULE = Rule(
    name="missing-output-key",
    summary="a prompt object without `output_key`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
