"""Two examples with the same inputs.

## What it does

Reports entries of `examples` that have the same inputs as an earlier one.

## Why is this bad?

It costs tokens and teaches nothing new. With a different output, the two examples contradict each other.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: Shipping}
  - {text: Where is my order?, response: Shipping}
     ^^^^ duplicate-example: example 2 has the inputs of example 1
---#}
- name: ticket
  content: |
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: Shipping}
  - {text: My card was charged twice., response: Billing}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.dialects.ragas.saved_prompt import form_of
from promptls.lint.rule import DECLARING_KINDS, File, Finding, RelatedInformation, Rule
from promptls.semantic.header import Example, example_fact
from promptls.semantic.object_data import is_printed
from promptls.semantic.types.schemas import canonical_text
from promptls.syntax.yaml.nodes import key_text


def check(file: File) -> Iterator[Finding]:
    """Yield the examples with the same inputs as an earlier one."""
    data = file.template.declarations.data
    output = "output" if form_of(data) is not None else data.get("output_key")
    output = output if isinstance(output, str) else None
    seen: dict[str, Example] = {}
    for example in file.template.declarations.examples:
        if _is_printed(example):
            continue  # the text that Jinja prints may differ between the two
        inputs = _inputs(example, output)
        earlier = seen.setdefault(inputs, example)
        if inputs and earlier is not example:
            related = RelatedInformation(file.path, earlier.first_key, f"example {earlier.number}")
            message = f"example {example.number} has the inputs of example {earlier.number}"
            answer = next((each for each in example.entries if key_text(each) == output), None)
            outputs = [canonical_text(each.data.get(output or "")) for each in (earlier, example)]
            if answer is not None and outputs[0] != outputs[1]:
                yield Finding(answer.key.span, f"{message}, and another output", related=(related,))
            else:
                yield Finding(example.first_key, message, related=(related,))


@example_fact
def _is_printed(example: Example) -> bool:
    return is_printed(example.node)


@example_fact
def _inputs(example: Example, output: str | None) -> str:
    """Return the inputs of an example as a string; empty if it has none."""
    inputs = {key: value for key, value in example.data.items() if key != output}
    return canonical_text(inputs) if inputs else ""


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
