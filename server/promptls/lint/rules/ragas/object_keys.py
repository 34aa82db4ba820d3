"""Keys of prompt objects.

# output-key-in-inputs

Output key that is also an input.

## What it does

Reports an `output_key` that is also in `input_keys`.

## Why is this bad?

The answer would be passed to the model with the question.

## Example

```yaml
{#---
input_keys: [text, response]
output_key: response
            ^^^^^^^^ output-key-in-inputs: `response` is an input as well
---#}
- name: ticket
  content: |
    {{ text }} {{ response }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
---#}
- name: ticket
  content: |
    {{ text }}
```

# misspelled-object-key

Probable typo in a key of a prompt object.

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
output_type: str
exampels:
^^^^^^^^ misspelled-object-key: Ragas ignores `exampels`; did you mean `examples`?
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: str
examples:
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AnyMapping

from promptls.dialects import KeyFact
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.dialects.ragas.saved_prompt import Form, form_of
from promptls.dialects.ragas.saved_prompt_keys import has_keys_below, saved_keys
from promptls.lint.fixes.yaml_edits import removed_item, without_entry
from promptls.lint.rule import DECLARING_KINDS, OBJECT_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, key_text, scalar_text
from promptls.text.suggest import is_close


def output_key_in_inputs(file: File) -> Iterator[Finding]:
    """Yield the output key if it is also an input."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    span = declarations.value_span("output_key")
    if span is not None and any(key.name == output for key in declarations.inputs or ()):
        edit = _without(file, str(output))
        fixes = () if edit is None else (Fix(f"Remove `{output}` from `input_keys`", (edit,)),)
        yield Finding(span, f"`{output}` is an input as well", fixes)


def _without(file: File, name: str) -> Edit | None:
    """Return the edit that removes the name from the inputs."""
    tree = file.template.declarations.tree
    keys = tree.merged("input_keys") if tree else None
    if isinstance(keys, Sequence):
        item = next(item for item in keys.items if scalar_text(item) == name)
        return removed_item(file.template.source.text, keys, item)
    entry = keys.entry(name) if isinstance(keys, Mapping) else None
    if not isinstance(keys, Mapping) or entry is None:
        return None
    return without_entry(file.template.source.whole, keys.span, keys.entries, entry)


OUTPUT_KEY_IN_INPUTS = Rule(output_key_in_inputs, severity="warning", kinds=DECLARING_KINDS)


def misspelled_object_key(file: File) -> Iterator[Finding]:
    """Yield the keys of the object that are similar to a known key."""
    root = file.template.root
    if root is None:
        return
    form = form_of(file.template.declarations.data)
    if form is None:
        yield from _in_mapping(root, PROMPT_KEYS, HEADER_KEYS)
    else:
        yield from _in_saved(root, form, ())


def _in_saved(node: Node, form: Form, path: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the keys below a node of a saved file."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _in_saved(item, form, (*path, "-"))
    elif isinstance(node, Mapping) and (keys := saved_keys(form, path)):
        yield from _in_mapping(node, keys, () if path else (*PROMPT_KEYS, *HEADER_KEYS))
        for key in keys.keys() & node.indexes.keys():
            value = node.value(key) if has_keys_below(form, (*path, key)) else None
            if value is not None:
                yield from _in_saved(value, form, (*path, key))


def _in_mapping(node: Mapping, keys: AnyMapping[str, KeyFact], others: Iterable[str]) -> Iterator[Finding]:
    present = node.indexes.keys()
    if present <= keys.keys():
        return
    known = {*keys, *others}
    for entry in node.entries:
        key = key_text(entry)
        if key is None or key in known:
            continue
        meant = next((each for each in sorted(known - present) if is_close(key, each)), None)
        if meant is not None:
            severity: Severity | None = "error" if meant in keys and keys[meant].required else None
            message = f"Ragas ignores `{key}`"
            yield Finding.suggest(entry.key.span, message, meant, preferred=True, severity=severity)


MISSPELLED_OBJECT_KEY = Rule(misspelled_object_key, severity="warning", kinds=OBJECT_KINDS)
