"""A format instruction that the release of Ragas does not know.

## What it does

Reports `output_format_instruction` in a prompt object that is for a release of Ragas before 0.1.6, by
its `ragas_version` or by that of the settings. Where neither names a release, the key itself says that
the prompt is for a later one, and nothing is reported.

## Why is this bad?

Earlier releases leave the key out without a word: the model is never told how to answer.

## Example

```yaml
ragas_version: 0.1.0
instruction: Answer the question.
output_format_instruction: Answer in one word.
^^^^^^^^^^^^^^^^^^^^^^^^^ ignored-format-instruction: Ragas 0.1.0 leaves `output_format_instruction` out: it is known from 0.1.6 on
input_keys: [question]
output_key: answer
```

Use instead:

```yaml
ragas_version: 0.1.21
instruction: Answer the question.
output_format_instruction: Answer in one word.
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.facts.aspects import declarations
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule
from promptls.systems.ragas.release import release_of

_KEY = "output_format_instruction"


def check(context: FileContext) -> Iterator[Finding]:
    """The key, where there is something under it and the release does not know it."""
    root, data = context.template.root, context.template.declarations.data
    entry = root.entry(_KEY) if root else None
    if entry is None or not data.get(_KEY):
        return
    of = release_of(data, context.project.ragas_version)
    if not of.has_format_instruction:
        yield Finding(entry.key.span, f"Ragas {of.name} leaves `{_KEY}` out: it is known from 0.1.6 on")


RULE = Rule(
    name="ignored-format-instruction",
    summary="a format instruction that the release of Ragas does not know",
    severity="warning",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
    looks_at=(declarations,),
)
