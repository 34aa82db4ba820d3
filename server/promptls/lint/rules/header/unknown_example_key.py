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

from promptls.lint.analysis.example_names import (
    declared_keys,
    meant_by_repeated_input,
    misnamed_keys,
    renamed_key,
    required_keys,
    undeclared_in_all,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import DECLARING_KINDS, OBJECT_KINDS, File, Finding, Fix, Rule, each_example
from promptls.semantic.header import Example
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import key_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close


def check(file: File) -> Iterator[Finding]:
    """Yield the undeclared keys of examples, or the declared name that no example has."""
    misnamed = dict(misnamed_keys(file))
    for declared, used in misnamed.items():
        span = _declaration(file, declared)
        if span is not None:
            meant = ", ".join(used)
            fix = Fix.change_to(span, meant)
            names = " and ".join(f"`{name}`" for name in used)
            yield Finding(span, f"no example has `{declared}`, and all have {names}", (fix,))
    explained = {name for used in misnamed.values() for name in used}
    explained.add(meant_by_repeated_input(file) or "")  # `duplicate-key` suggests it
    span = file.template.declarations.key_span("input_keys")
    for name in sorted(undeclared_in_all(file) - explained - INJECTED) if span is not None else ():
        if any(is_close(name, known) for known in declared_keys(file) or ()):
            continue
        explained.add(name)
        # `undeclared-input` reports a name that the template reads.
        if span is not None and (file.kind in OBJECT_KINDS or name not in file.template.names.input_names):
            yield Finding(span, f"all examples have `{name}`, which is neither an input nor the output")
    for finding in _in_examples(file):
        if file.template.source.slice(finding.span).strip("'\"") not in explained:
            yield finding


def _declaration(file: File, name: str) -> Span | None:
    declarations = file.template.declarations
    if declarations.data.get("output_key") == name:
        return declarations.value_span("output_key")
    return next((key.span for key in declarations.inputs or () if key.name == name), None)


def _keys(file: File) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the required and the declared keys of examples; None if the file does not declare both."""
    known = declared_keys(file)
    return None if known is None else (required_keys(file), known)


@each_example(_keys)
def _in_examples(
    _source: Source, example: Example, keys: tuple[tuple[str, ...], tuple[str, ...]]
) -> Iterator[Finding]:
    """Yield the undeclared keys of an example."""
    required, known = keys
    if renamed_key(example, required, known) is not None:
        return  # `missing-example-key` reports it
    lacking = [name for name in known if name not in example.data]
    for entry in example.entries:
        key = key_text(entry)
        if key is None or key in known or key == "<<" or key in INJECTED:
            continue  # `reserved-input` reports reserved names
        message = f"`{key}` is neither an input nor the output"
        typo_of_missing = next((name for name in known if name in example.data and is_close(key, name)), None)
        if typo_of_missing is None:
            yield misspelled(entry.key.span, message, key, lacking)
        else:
            yield Finding(entry.key.span, f"{message}; did you mean `{typo_of_missing}`?")


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
