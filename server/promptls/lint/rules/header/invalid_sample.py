"""Sample that does not match the inputs of the prompt.

## What it does

Reads the file that the header's `samples` names. Reports a file that cannot be read, a sample that lacks
a required input, and a value that does not have the type or is not in the `enum` declared in `input_keys` or, without a
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

from promptls.lint.analysis.declared_experiments import NameProblem, place_in_data
from promptls.lint.analysis.sampled_values import sample_problems
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import File, Finding, RelatedInformation, Rule
from promptls.security.files import current_scope, is_file, is_folder, read_text
from promptls.semantic.kind import Kind
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, key_text
from promptls.text.errors import UserError
from promptls.text.positions import Span


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
        yield NameProblem(f"there is no file `{named}` next to this prompt", meant).finding(file, span)
        return
    written = _written(named_file)
    try:
        samples = file_samples(file.template, file.path)
    except UserError as failure:
        yield Finding(span, failure.message, related=(place_in_data(named_file, failure.place, "the error"),))
        return
    first: dict[str, Span] = {}
    for entry in written.entries:
        name = key_text(entry) or ""
        if name in first:
            places = [(first[name], "the first one"), (entry.key.span, "the second one")]
            message = f"the samples file has `{name}` twice, and the first one is ignored"
            yield Finding(span, message, related=_related(named_file, places))
        first.setdefault(name, entry.key.span)
    for sample in samples:
        own = written.value(sample.name)
        for problem in sample_problems(file, sample):
            found = own.entry(problem.key) if isinstance(own, Mapping) else written.entry(problem.key)
            found = found or written.entry(sample.name)
            places = [(found.key.span if found else Span(0, 0), f"the sample `{sample.name}`")]
            yield Finding(span, problem.message, related=_related(named_file, places))


def _written(path: Path) -> Mapping:
    """Return the mapping in a samples file, which is empty if there is none."""
    try:
        root = compose(read_text(path), Span, lambda _span: False).root
    except (OSError, ValueError):
        root = None
    return root if isinstance(root, Mapping) else Mapping(Span(0, 0), ())


def _related(path: Path, places: Iterable[tuple[Span, str]]) -> tuple[RelatedInformation, ...]:
    return tuple(RelatedInformation(str(path), span, message) for span, message in places)


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
