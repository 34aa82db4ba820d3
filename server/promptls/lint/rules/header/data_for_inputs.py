"""Data that does not fit the inputs of the prompt.

# invalid-sample

Sample that does not match the inputs of the prompt.

Reads the file that the header's `samples` names. Reports a file that cannot be read, a sample that lacks
a required input, and a value that does not have the type or the size or is not in the `enum` declared in `input_keys` or, without a
declaration, the type that the template uses it as. What the template reads under a condition such as
`message.role == "tool"` is only required in rows that satisfy the condition.

Also reports values in the datasets of the file's experiments that do not fit `input_keys`, for each input in
its first such row. Datasets larger than 500 kilobytes are not checked.

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

# missing-template-data

Python call that loads the template with missing or wrong data.

Checks the calls in the workspace's Python files that load this template with Prompt Poet,
`Prompt(template_path=…, template_data={…})`, with promptls, `promptls.load(…).render(…)`, or with Jinja,
`environment.get_template(…).render(…)`. Reports a required input that such a call does not pass, and a
value whose type does not match its uses, that never equals a text it is compared with, or that its
declaration in `input_keys` excludes. A text that
makes the YAML invalid where the template prints it is an error; a key that the template never reads is a hint. What the template reads under a condition
such as `message.role == "tool"` is only required in rows that satisfy the condition. Only calls with a
literal path and data are checked; Python files are read but never run.

The same problems are reported in the Python file, if it is open in an editor or passed to
`promptls check`; there, also for templates that the program contains as text,
`Prompt(raw_template="…", template_data={…})`. A comment `# promptls: ignore[missing-template-data]`
suppresses them. In an included file, a name that is a typo of a name that every such call gives is reported.

## Why is this bad?

Jinja prints nothing for an undefined variable, so the prompt is shorter without any error. A value that
is passed but never read is often the same variable under a different name.

## Example

```yaml
-- support.py --
from prompt_poet import Prompt

prompt = Prompt(template_path="main.yml.j2", template_data={"text": "Where is my order?"})
-- main.yml.j2 --
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
                                                                       ^^^^^^ missing-template-data: `support.py` loads this template in line 3 without `locale`
```

Use instead:

```yaml
-- support.py --
from prompt_poet import Prompt

prompt = Prompt(template_path="main.yml.j2", template_data={"text": "Where is my order?", "locale": "en"})
-- main.yml.j2 --
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from promptls.datasets.cells import typed_row
from promptls.datasets.dataset_files import MAX_BYTES_FOR_ROWS, Row, all_rows
from promptls.lint.analysis.call_problems import CallProblem, call_problems
from promptls.lint.analysis.declared_experiments import (
    DeclaredExperiment,
    NameProblem,
    declared_experiments,
    place_in_data,
)
from promptls.lint.analysis.declared_types import mismatch
from promptls.lint.analysis.loop_names import plurals
from promptls.lint.analysis.sampled_values import sample_problems
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, RelatedInformation, Severity, rule
from promptls.security.files import cached_by_file, current_scope, is_file, is_folder, read_text
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, key_text, node_at
from promptls.text.errors import FilePlace, UserError
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import calls_to, include_chains, needs_of

if TYPE_CHECKING:
    from promptls.rendering.samples import Sample


@rule(severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
def invalid_sample(file: File) -> Iterator[Finding]:
    """Yield the problems of the samples and of the rows of datasets."""
    yield from _in_samples(file)
    for experiment in declared_experiments(file):
        span = experiment.span(file, "dataset")
        if span is not None:
            yield from _in_rows(file, experiment, span)


def _in_rows(file: File, experiment: DeclaredExperiment, span: Span) -> Iterator[Finding]:
    """Yield the first value of each input in the rows of a dataset that does not fit its declaration."""
    schemas = {name: schema for name, schema in file.template.declarations.schemas.items() if schema}
    types = file.template.declarations.settings.input_types()
    written = json.dumps([schemas, types], default=str) if schemas else ""
    for row, what in _row_mismatches(experiment.dataset, written) if schemas else ():
        place = place_in_data(experiment.dataset, FilePlace(experiment.dataset, row.line), "the row")
        message = f"row {row.number} of `{experiment.declared.dataset}`: {what}"
        yield Finding(span, message, related=(place,))


@cached_by_file(16)
def _row_mismatches(path: Path, written: str) -> tuple[tuple[Row, str], ...]:
    """Return the rows with the first wrong value of an input; `written` is JSON of the schemas and the types."""
    schemas, types = json.loads(written)
    found: dict[str, tuple[Row, str]] = {}
    for row in all_rows(path, MAX_BYTES_FOR_ROWS):
        values = typed_row(row.values, types)
        for name, schema in schemas.items():
            value = values.get(name)
            problem = mismatch((name,), value, schema) if name not in found and value != "" else None
            if problem is not None:
                found[name] = row, problem.message
    return tuple(found.values())


def _in_samples(file: File) -> Iterator[Finding]:
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
    if beside := next(_beside_samples(file, samples), None):
        message = f"`{beside}` is beside the names of samples: indent it below the name of its sample"
        places = [(first.get(beside, Span(0, 0)), "the key")]
        yield Finding(span, message, related=_related(named_file, places))
        return
    for sample in samples:
        own = written.value(sample.name)
        for problem in sample_problems(file, sample):
            place = _place(own if isinstance(own, Mapping) else written, problem.path)
            place = place or first.get(sample.name) or Span(0, 0)
            places = [(place, f"the sample `{sample.name}`")]
            yield Finding(span, problem.message, related=_related(named_file, places))


def _written(path: Path) -> Mapping:
    """Return the mapping in a samples file; an empty one for other content."""
    try:
        root = compose(read_text(path), Span, lambda _span: False).root
    except (OSError, ValueError):
        root = None
    return root if isinstance(root, Mapping) else Mapping(Span(0, 0), ())


def _beside_samples(file: File, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the inputs that are beside the names of samples, for which all of the file is one sample."""
    declared = {key.name for key in file.template.declarations.inputs}
    inputs = declared or {*file.template.names.input_names}
    for sample in samples:
        others = [value for name, value in sample.data.items() if name not in inputs]
        if any(isinstance(value, dict) and value and value.keys() <= inputs for value in others):
            yield from (str(name) for name in sample.data if name in inputs)


def _place(written: Mapping, path: tuple[str | int, ...]) -> Span | None:
    """Return the span of the last key on a path, or of the item of a list."""
    above = node_at(written, path[:-1])
    if path and isinstance(above, Mapping):
        entry = above.entry(str(path[-1]))
        return entry.key.span if entry else None
    node = node_at(written, path) if path else None
    return node.span if node else None


def _related(path: Path, places: Iterable[tuple[Span, str]]) -> tuple[RelatedInformation, ...]:
    return tuple(RelatedInformation(str(path), span, message) for span, message in places)


_SEVERITIES: Final[dict[str, Severity]] = {"unread": "hint", "broken": "error"}
"""The severities of kinds of problems that differ from that of the rule."""


@rule(severity="warning", kinds=JINJA_KINDS)
def missing_template_data(file: File) -> Iterator[Finding]:
    """Yield the missing and the unused data in calls that load the template."""
    calls = calls_to(file.snapshot, file.path)
    same: dict[tuple[object, ...], list[CallProblem]] = {}
    for each in call_problems(file.snapshot, file.path, file.template, calls) if calls else ():
        same.setdefault((each.call.file, *each[1:]), []).append(each)
    for problems in same.values():
        each = problems[0]
        *lines, last = [str(problem.call.line + 1) for problem in problems]
        places = f"lines {', '.join(lines)} and {last}" if lines else f"line {last}"
        loaded = f"`{PurePath(each.call.file).name}` loads this template in {places}"
        related = tuple(
            RelatedInformation(problem.call.file, problem.call.span, "the template is loaded here")
            for problem in problems
        )
        escaped = Edit(each.span, f"escape_special_characters({each.name})")
        fixes = (Fix("Escape it", (escaped,)),) if each.ends_block else ()
        finding = Finding(each.span, f"{loaded} {_what(each)}", fixes, related)
        if each.kind == "missing" and file.template.source.slice(each.span) == each.name:
            read = needs_of(file.snapshot, file.path).by_name.keys()
            meant = "" if each.meant else _typo_of(each.name, each.call.keys & read)
            if meant:
                finding = Finding.suggest(each.span, finding.message, meant, related=related)
        yield replace(finding, severity=_SEVERITIES.get(each.kind))
    yield from _in_included_file(file)


_MIN_LENGTH: Final = 5
"""The minimum length of a name that may be reported as a typo."""


def _typo_of(name: str, keys: Iterable[str]) -> str:
    """Return the key that a name is a typo of; not its plural, since an element of that may be meant."""
    others = sorted({*keys}.difference(plurals(name))) if len(name) >= _MIN_LENGTH else ()
    return next((key for key in others if is_typo(name, key)), "")


def _in_included_file(file: File) -> Iterator[Finding]:
    """Yield the names in a file that is included that are typos of what every call of an entry passes."""
    names = file.template.names.input_names - INJECTED - GLOBALS
    found: dict[Span, Finding] = {}
    for chain in include_chains(file.snapshot, file.path):
        calls = [call for call in calls_to(file.snapshot, chain.entry) if not call.is_failing]
        if chain.reference is None or not calls:
            continue
        read = needs_of(file.snapshot, chain.entry).by_name.keys()
        given = frozenset.intersection(*(call.keys for call in calls)) & read
        for name in sorted(names - chain.provided - frozenset().union(*(call.keys for call in calls))):
            meant = _typo_of(name, given)
            for reference in file.template.names.references_of(name) if meant else ():
                if reference.binding is None:
                    entry, program = PurePath(chain.entry).name, PurePath(calls[0].file).name
                    message = f"`{program}` gives `{entry}`, which includes this file, no `{name}`"
                    related = RelatedInformation(calls[0].file, calls[0].span, "the template is loaded here")
                    finding = Finding.suggest(reference.span, message, meant, related=(related,))
                    found.setdefault(reference.span, finding)
    yield from found.values()


def _what(each: CallProblem) -> str:
    match each.kind:
        case "missing":
            when = f", which is read where {each.detail}" if each.detail else ""
            meant = f"; it gives `{each.meant}`, which nothing reads" if each.meant else ""
            return f"without `{each.name}`{when}{meant}"
        case "mismatch":
            return f"where {each.detail}"
        case "broken":
            return f"with a `{each.name}` that fails: {each.detail}"
        case "refused":
            return f"with `{each.name}`, which Prompt Poet refuses in the data"
        case "unread":
            return f"with `{each.name}`, which nothing in it reads"
