"""Sample that does not match the inputs of the prompt.

## What it does

Reads the file that the header's `samples` names. Reports a file that cannot be read, a sample that lacks
a required input, and a value that does not have the type declared in `input_keys` or, without a
declaration, the type that the template uses it as. What the template reads under a condition such as
`message.role == "tool"` is only required in rows that satisfy the condition.

## Why is this bad?

The preview, and anyone who copies the sample, shows a prompt that no caller would get.

## Example

```yaml
-- samples.json --
{"short": {"text": "Where is it?"}, "long": {"text": 3, "tone": "dry"}}
-- main.yml.j2 --
{#---
input_keys:
  text: {type: string}
  tone: {type: string}
samples: samples.json
         ^^^^^^^^^^^^ invalid-sample: the sample `short` lacks `tone`
         ^^^^^^^^^^^^ invalid-sample: the sample `long`: `text` is 3, and not a string
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(tone) }}
```

Use instead:

```yaml
-- samples.json --
{"short": {"text": "Where is it?", "tone": "dry"}}
-- main.yml.j2 --
{#---
input_keys:
  text: {type: string}
  tone: {type: string}
samples: samples.json
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(tone) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.lint.analysis.declared_experiments import NameObjection
from promptls.lint.analysis.declared_types import declared_types, is_of_type
from promptls.lint.analysis.unmatched_names import needed_inputs
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import File, Finding, Rule
from promptls.security.files import current_scope, is_file, is_folder
from promptls.semantic.kind import Kind
from promptls.semantic.types.assignability import given_value, lacking, misfit_by_name
from promptls.text.errors import UserError
from promptls.text.suggest import nearest
from promptls.workspace.contract import needed_shapes

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample


def check(file: File) -> Iterator[Finding]:
    """Yield the problems of the samples."""
    span = file.template.declarations.value_span("samples")
    if span is None or not file.template.declarations.settings.samples:
        return
    from promptls.rendering.samples import file_samples

    named = file.template.declarations.settings.samples
    named_file = Path(file.path).parent / named
    if not current_scope().allows(named_file):
        return
    if not is_file(named_file) and not is_folder(named_file):
        meant = near_file(named_file, named, (".json", ".yml", ".yaml"))
        yield NameObjection(f"there is no file `{named}` next to this prompt", meant).finding(file, span)
        return
    try:
        samples = file_samples(file.template, file.path)
    except UserError as failure:
        line = f" (line {failure.place.line + 1})" if failure.place and failure.place.line is not None else ""
        yield Finding(span, f"{failure.message}{line}")
        return
    for sample in samples:
        for objection in _objections(file, sample):
            yield Finding(span, objection)


def _objections(file: File, sample: Sample) -> Iterator[str]:
    known = frozenset(map(str, sample.data))
    declared = {key.name: key.schema for key in file.template.declarations.inputs or ()}
    for name in needed_inputs(file, known):
        meant = nearest(name, known - declared.keys())
        suggestion = f"; it has `{meant}`" if meant else ""
        yield f"the sample `{sample.name}` lacks `{name}`{suggestion}"
    for name, schema in declared.items():
        types = declared_types(schema)
        value = sample.data.get(name)
        if types is not None and value is not None and not is_of_type(value, types):
            yield f"the sample `{sample.name}`: `{name}` is {_shown(value)}, and not {_words(types)}"
    if not declared:
        shapes = needed_shapes(file.snapshot, file.path)
        values = {str(name): given_value(value) for name, value in sample.data.items()}
        for name, when in sorted(lacking(shapes, values)):
            yield f"the sample `{sample.name}` lacks `{name}`, which is read where {when}"
        for _, reason in misfit_by_name(shapes, values):
            yield f"the sample `{sample.name}`: {reason}"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _words(types: frozenset[str]) -> str:
    return " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in sorted(types))


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
