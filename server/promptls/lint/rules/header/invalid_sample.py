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

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.lint.analysis.declared_experiments import NameObjection
from promptls.lint.analysis.declared_types import declared_types, is_of_type
from promptls.lint.analysis.unmatched_names import needed_inputs
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import File, Finding, RelatedInformation, Rule
from promptls.security.files import current_scope, is_file, is_folder, read_text
from promptls.semantic.kind import Kind
from promptls.semantic.types.assignability import given_value, lacking, misfit_by_name
from promptls.syntax.yaml.compose import Composed, compose
from promptls.syntax.yaml.nodes import Mapping, key_text
from promptls.text.errors import UserError
from promptls.text.positions import Span
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
    written = _written(named_file)
    try:
        samples = file_samples(file.template, file.path)
    except UserError as failure:
        error = written.error
        places = [(Span(error.offset, error.offset), "the error")] if error else []
        yield Finding(span, failure.message, related=_related(named_file, places))
        return
    entries = written.root.entries if isinstance(written.root, Mapping) else ()
    spans: dict[str, Span] = {}
    for entry in entries:
        name = key_text(entry) or ""
        if name in spans:
            places = [(spans[name], "the first one"), (entry.key.span, "the second one")]
            message = f"the samples file has `{name}` twice, and the first one is ignored"
            yield Finding(span, message, related=_related(named_file, places))
        spans[name] = entry.key.span
    for sample in samples:
        places = [(spans[sample.name], f"the sample `{sample.name}`")] if sample.name in spans else []
        for objection in _objections(file, sample):
            yield Finding(span, objection, related=_related(named_file, places))


def _written(path: Path) -> Composed:
    """Return the tree of a samples file, which is empty if it cannot be read."""
    if not is_file(path):
        return Composed(None, None)
    try:
        return compose(read_text(path), Span, lambda _span: False)
    except (OSError, ValueError):
        return Composed(None, None)


def _related(path: Path, places: Iterable[tuple[Span, str]]) -> tuple[RelatedInformation, ...]:
    return tuple(RelatedInformation(str(path), span, message) for span, message in places)


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
            yield f"the sample `{sample.name}`: `{name}` is {_shown(value)}, and not {_list_types(types)}"
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


def _list_types(types: frozenset[str]) -> str:
    return " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in sorted(types))


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
