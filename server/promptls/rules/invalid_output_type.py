"""An output type that Ragas does not know.

## What it does

Reports an `output_type` of a prompt object other than `json` and `str`.

## Why is this bad?

Ragas takes any word until 0.1.5; later versions fail on it, with a bare KeyError where there are examples.

## Example

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: string
             ^^^^^^ invalid-output-type: Ragas knows the output types `json` and `str`; did you mean `str`?
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: str
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.aspects import declarations
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule
from promptls.syntax.yaml.nodes import scalar_text


def check(context: FileContext) -> Iterator[Finding]:
    """The output type, where it is not one of the two."""
    root = context.template.root
    value = root.value("output_type") if root else None
    word = scalar_text(value)
    if value is None or word is None or word in {"json", "str"}:
        return
    yield misspelt(value.span, "Ragas knows the output types `json` and `str`", word, ("json", "str"))


RULE = Rule(
    name="invalid-output-type",
    summary="an output type that Ragas does not know",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
    looks_at=(declarations,),
)
