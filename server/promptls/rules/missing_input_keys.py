"""A prompt object without `input_keys`.

## What it does

Reports a prompt object at whose top level `input_keys` is missing or null. An empty list is
only remarked on: Ragas takes it. It is a warning where the release, by the file's `ragas_version` or that of
the settings, is 0.1.9 or later and there are no examples: those load the object.

## Why is this bad?

Ragas refuses it: without its inputs a prompt object cannot be formatted. From 0.1.9 on it takes one input
with an empty name for granted, which no example has and nothing can fill in.

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
from dataclasses import replace

from promptls.meaning.template import Template
from promptls.rules.missing_instruction import missing_top_key
from promptls.rules.rule import OBJECT_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.yaml.nodes import Scalar, Sequence
from promptls.systems.ragas.release import release_of


def check(context: FileContext) -> Iterator[Finding]:
    """A finding at the first key of an object without the key, or at a key without a value."""
    names = _names(context.template)
    written = f"input_keys: [{', '.join(names)}]" if names else None
    data = context.template.declarations.data
    of = release_of(data, context.project.ragas_version)
    for finding in missing_top_key(context, "input_keys", written):
        if of.has_defaults and not data.get("examples"):
            message = f"Ragas {of.name} loads this prompt object without `input_keys`, and cannot fill it in"
            yield replace(finding, message=message, severity="warning")
        else:
            yield finding
    root = context.template.root
    entry = root.entry("input_keys") if root else None
    if entry is None:
        return
    if isinstance(entry.value, Scalar) and not entry.value.dynamic and entry.value.tag == "null":
        span = entry.value.span
        place = entry.key.span if span.is_empty() else span
        edit = Edit(span, f"{' ' if span.is_empty() else ''}[{', '.join(names)}]")
        fixes = (Fix(f"Add `{written}`", (edit,)),) if names else ()
        yield Finding(place, "`input_keys` is null: Ragas refuses that", fixes)
    elif isinstance(entry.value, Sequence) and not entry.value.items:
        yield Finding(entry.value.span, "this prompt takes no input", severity="information")


def _names(template: Template) -> tuple[str, ...]:
    """The inputs as the first example has them."""
    output = template.declarations.data.get("output_key")
    examples = template.declarations.examples
    return (
        tuple(key for key in examples[0].data if isinstance(key, str) and key != output) if examples else ()
    )


RULE = Rule(
    name="missing-input-keys",
    summary="a prompt object without `input_keys`",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
