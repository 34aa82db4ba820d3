"""Example key that is neither an input nor the output.

## What it does

In a file that declares both `input_keys` and `output_key`, reports every other key in
`examples`.

## Why is this bad?

Ragas prints such a key into the prompt; most often it is a misspelled input.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - text: My card was charged twice.
    reponse: Billing
    ^^^^^^^ unknown-example-key: `reponse` is neither an input nor the output; did you mean `response`?
    response: Billing
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
  - text: My card was charged twice.
    response: Billing
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.fixes.misspellings import misspelt
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule, each_example
from promptls.semantic.header import Example
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.yaml.nodes import key_text
from promptls.text.suggest import is_close


def _names(file: File) -> tuple[str, ...] | None:
    """Return the inputs and the output; None if the file does not declare both."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    if declarations.inputs is None or not isinstance(output, str):
        return None
    return (*(key.name for key in declarations.inputs), output)


@each_example(_names)
def check(_text: str, example: Example, known: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the undeclared keys of an example."""
    lacking = [name for name in known if name not in example.data]
    for entry in example.entries:
        key = key_text(entry)
        if key is None or key in known or key == "<<" or key in INJECTED:
            continue  # `reserved-input` reports reserved names
        message = f"`{key}` is neither an input nor the output"
        typo_of_missing = next((name for name in known if name in example.data and is_close(key, name)), None)
        if typo_of_missing is None:
            yield misspelt(entry.key.span, message, key, lacking)
        else:
            yield Finding(entry.key.span, f"{message}; did you mean `{typo_of_missing}`?")


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
