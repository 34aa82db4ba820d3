"""Probable typo in a key of a prompt object.

## What it does

Reports keys at the top level of a prompt object that Ragas and promptls do not know, if they are similar
to a known key that the object does not have; if Ragas requires that key, it is an error. Other unknown
keys may be used by programs of your own.

## Why is this bad?

Ragas ignores an unknown key: the examples under `exampels` are never shown to the model.

## Example

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
exampels:
^^^^^^^^ misspelt-object-key: Ragas ignores `exampels`; did you mean `examples`?
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
examples:
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.lint.rule import OBJECT_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.yaml.nodes import key_text
from promptls.text.suggest import is_close


def check(file: File) -> Iterator[Finding]:
    """Yield the keys of the object that are similar to a known key."""
    root = file.template.root
    if root is None:
        return
    known = {*PROMPT_KEYS, *HEADER_KEYS}
    present = {key_text(entry) for entry in root.entries}
    for entry in root.entries:
        key = key_text(entry)
        if key is None or key in known:
            continue
        meant = next((each for each in sorted(known - present) if is_close(key, each)), None)
        if meant is not None:
            fix = Fix(f"Change to `{meant}`", (Edit(entry.key.span, meant),), preferred=True)
            is_required = meant in PROMPT_KEYS and PROMPT_KEYS[meant].required
            severity: Severity | None = "error" if is_required else None
            message = f"Ragas ignores `{key}`; did you mean `{meant}`?"
            yield Finding(entry.key.span, message, (fix,), severity=severity)


RULE = Rule(check, severity="warning", kinds=OBJECT_KINDS)
