"""Input name reserved by Prompt Poet.

## What it does

Reports `token_limit` and `escape_special_characters` among `input_keys`, and among the inputs of an
example or sample. Only Prompt Poet reserves these names: prompt objects and evaluation prompts may use
them.

## Why is this bad?

Prompt Poet adds both to the data itself, and refuses data that contains them: "`token_limit` is a
reserved key in the template data".

## Example

```yaml
{#---
input_keys: [text, token_limit]
                   ^^^^^^^^^^^ reserved-input: Prompt Poet adds `token_limit` itself and refuses it in the data
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.unmatched_names import samples_of
from promptls.lint.fixes.yaml_edits import removed_input
from promptls.lint.rule import JINJA_KINDS, File, Finding, Rule
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.yaml.nodes import key_text


def check(file: File) -> Iterator[Finding]:
    """Yield the inputs, declared or in examples and samples, that have a reserved name."""
    declarations = file.template.declarations
    for key in declarations.inputs or ():
        if key.name in INJECTED:
            yield Finding(key.span, _message(key.name), removed_input(file, key, preferred=True))
    known = [declarations.data.get("output_key"), *(key.name for key in declarations.inputs or ())]
    for example in declarations.examples:
        for entry in example.entries:
            name = key_text(entry)
            if name in INJECTED and name not in known:
                yield Finding(entry.key.span, _message(name))
    yield from _in_samples(file)


def _in_samples(file: File) -> Iterator[Finding]:
    """Yield the samples with a reserved name, at the place where the header names their file."""
    span = file.template.declarations.value_span("samples")
    if span is None:
        return
    for sample in samples_of(file):
        for name in sorted(INJECTED.intersection(sample.data)):
            yield Finding(span, f"the sample `{sample.name}` has `{name}`: {_message(name)}")


def _message(name: str) -> str:
    return f"Prompt Poet adds `{name}` itself and refuses it in the data"


RULE = Rule(check, severity="error", kinds=JINJA_KINDS)
