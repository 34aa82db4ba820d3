"""The datasets of experiments, and their columns.

# unknown-dataset

Dataset of an experiment is missing or cannot be read.

Reports the `dataset` of an experiment in the file's header if the file does not exist, if its extension
is not that of a dataset, or if its columns cannot be read. In a file of up to half a megabyte, rows that
cannot be read are reported too. The path is relative to the prompt file's folder. The `path` of an
evaluation prompt is checked if it has the extension of a dataset or a folder with datasets has a similar name,
and so are the files of its splits.

Datasets of experiments in the project's settings are checked too: `promptls check`, `promptls doctor`
and the editor's log report the problems of the settings.

## Why is this bad?

The experiment cannot be run.

## Example

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: ticket.csv
             ^^^^^^^^^^ unknown-dataset: there is no file `ticket.csv` next to this prompt; did you mean `tickets.csv`?
    metrics: [json_validity]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys: [text]
experiments:
  triage:
    dataset: tickets.csv
    metrics: [json_validity]
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

# missing-dataset-column

Dataset without a column that the experiment needs.

Reports an experiment whose dataset lacks a column for an input of the prompt, or for a parameter of a
metric, or whose CSV file has texts in a column that the prompt needs as a mapping. Inputs with a
`default`, and inputs that the template handles as optional, need no column. The columns are read from the
beginning of the file; a JSON file of up to half a megabyte is searched for rows that have an input under a
misspelled name or lack the expected answer, which other rows have, and a CSV file for single rows without their last cells. A metric's file is read but never run. Experiments in the project's settings can run any
prompt: if their dataset has columns for some of the inputs only, the others have a hint.

## Why is this bad?

The experiment cannot be run, or the prompt is rendered without the input.

## Example

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys: [text, locale]
experiments:
  triage:
    dataset: tickets.csv
             ^^^^^^^^^^^ missing-dataset-column: `tickets.csv` has no column `locale`, which is an input of the prompt
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
```

Use instead:

```yaml
-- tickets.csv --
text,response
-- main.yml.j2 --
{#---
input_keys:
  text:
  locale: {default: en}
experiments:
  triage:
    dataset: tickets.csv
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }} {{ escape_special_characters(locale) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from promptls.datasets.dataset_files import SUFFIXES, known_columns, known_failure
from promptls.lint.analysis.declared_experiments import (
    DeclaredExperiment,
    NameProblem,
    declared_experiments,
    named_metrics,
    needed_columns,
    place_in_data,
)
from promptls.lint.analysis.sampled_values import texts_used_as_mappings
from promptls.lint.analysis.unmatched_names import needed_inputs
from promptls.lint.fixes.misspellings import near_file, near_folder
from promptls.lint.rule import DECLARING_KINDS, File, Finding, RelatedInformation, rule
from promptls.security.files import current_scope, is_file, is_folder, names_in
from promptls.semantic.kind import Kind
from promptls.text.errors import FilePlace
from promptls.text.positions import Span
from promptls.text.suggest import did_you_mean

_DATASET_ENDINGS: Final = (".csv", ".jsonl", ".ndjson", ".parquet")
"""The endings that only datasets have; JSON files are used by other programs as well."""


@rule(severity="error", kinds=DECLARING_KINDS)
def unknown_dataset(file: File) -> Iterator[Finding]:
    """Yield the datasets that cannot be read, at the places of their names."""
    found: dict[Span, NameProblem] = {}
    for experiment in declared_experiments(file):
        span = experiment.span(file, "dataset")
        problem = dataset_problem(experiment.declared.dataset, experiment.dataset, "this prompt")
        if span is not None and problem is not None:
            found[span] = problem
    for span, problem in (*found.items(), *_of_evaluation(file)):
        finding = problem.finding(file, span)
        yield finding if problem.is_sure else replace(finding, severity="warning")


def _of_evaluation(file: File) -> Iterator[tuple[Span, NameProblem]]:
    """Yield the splits that are not in the folder `path` of an evaluation prompt, and its missing file."""
    declared = file.template.declarations
    named = declared.data.get("path")
    span = declared.value_span("path")
    if file.kind is not Kind.EVALUATION or not file.path or not isinstance(named, str) or span is None:
        return
    path = Path(file.path).parent / named
    if not named.strip() or not current_scope().allows(path):
        return
    if not is_file(path) and not is_folder(path):
        if path.suffix.lower() in SUFFIXES and is_folder(path.parent):
            yield span, NameProblem(f"there is no file `{named}` next to this prompt", _meant(path, named))
        elif (near := near_folder(path, named)) and _datasets_in(Path(file.path).parent / near):
            message = f"there is no folder `{named}` next to this prompt"
            yield span, NameProblem(message, near, is_sure=False)  # It may be a dataset in a hub.
        return
    reader = declared.data.get("reader_cfg")
    splits = sorted({each.stem for each in _datasets_in(path)})
    for key in ("train_split", "test_split"):
        split = reader.get(key) if isinstance(reader, dict) else None
        place = declared.value_span("reader_cfg", key)
        if isinstance(split, str) and place is not None and splits and split not in splits:
            yield place, NameProblem.near(f"`{named}` has no file for the split `{split}`", split, splits)


def _datasets_in(folder: Path) -> list[Path]:
    """Return the names of the datasets in a folder; none if it is a file."""
    names = names_in(folder) if is_folder(folder) else ()
    return [path for name in names if (path := Path(name)).suffix.lower() in SUFFIXES]


def dataset_problem(named: str, dataset: Path, owner: str) -> NameProblem | None:
    """Return the problem of the dataset at the path `dataset`, written as `named`; None if it can be read.

    `owner` describes the folder or file that the path is relative to.
    """
    if not named.strip():
        return NameProblem("no dataset is named")
    if not current_scope().allows(dataset):
        return None
    if not is_file(dataset):
        message = f"there is no file `{named}` next to {owner}"
        if "://" in named:
            message = f"`{named}` is an address: a dataset is a file"
        elif is_folder(dataset):
            message = f"`{named}` is a folder"
        slashes = named.replace("\\", "/")
        is_meant = slashes != named and is_file(dataset.parent / slashes)
        return NameProblem(message, slashes if is_meant else _meant(dataset, named))
    failure = known_columns(dataset).failure or known_failure(dataset)
    if failure is None:
        return None
    line = f" in line {failure.place.line + 1}" if failure.place and failure.place.line is not None else ""
    remedy = f"; {failure.remedy}" if dataset.suffix.lower() not in SUFFIXES else ""
    related = (place_in_data(dataset, failure.place, "the error"),)
    return NameProblem(f"`{named}` cannot be read{line}: {failure.message}{remedy}", related=related)


def _meant(dataset: Path, named: str) -> str | None:
    """Return the path of an existing dataset with a similar name, or None."""
    own = dataset.suffix.lower()
    return near_file(dataset, named, (*_DATASET_ENDINGS, own) if own in SUFFIXES else _DATASET_ENDINGS)


_SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@rule(severity="error", kinds=frozenset({Kind.PARTS, Kind.OBJECT}))
def missing_dataset_column(file: File) -> Iterator[Finding]:
    """Yield the columns that datasets lack."""
    for experiment in declared_experiments(file):
        columns = _columns(experiment)
        if columns is not None:
            missing = [*_without_inputs(file, experiment, columns)]
            missing += _in_rows(file, experiment, columns)
            missing += _texts(file, experiment, columns)
            missing += _without_parameters(file, experiment, columns)
            is_one = bool(missing) and len(columns) == 1
            yield from (_wrong_separator(file, experiment, columns) if is_one else []) or missing
    yield from _of_project(file)


def _wrong_separator(file: File, experiment: DeclaredExperiment, columns: tuple[str, ...]) -> list[Finding]:
    """Return a finding for a CSV file with a separator other than the comma."""
    span = experiment.span(file, "dataset")
    mark = next((mark for mark in _SEPARATORS if mark in columns[0]), None)
    if span is None or mark is None or experiment.dataset.suffix.lower() != ".csv":
        return []
    message = (
        f"the values in `{experiment.declared.dataset}` are separated by {_SEPARATORS[mark]}, not by commas"
    )
    return [Finding(span, message, related=_first_line(experiment))]


def _suggestion(name: str, columns: tuple[str, ...]) -> str:
    """Return the end of a message that suggests a similar column."""
    padded = next((column for column in columns if column.strip() == name), None)
    if padded is not None:
        return f"; its column `{padded}` has white space around its name"
    return did_you_mean(name, columns)


def _of_project(file: File) -> Iterator[Finding]:
    """Yield the inputs for which the project's experiments have no column, at their declarations."""
    inputs = {key.name: key.span for key in file.template.declarations.inputs}
    project = file.snapshot.project(file.path)
    own = file.template.declarations.settings.experiments
    if not inputs or project.path is None:
        return
    for name, declared in project.settings.experiments.items():
        if name in own:
            continue
        columns = _columns(DeclaredExperiment(name, declared, project.root / declared.dataset))
        if not columns or inputs.keys().isdisjoint(columns):
            continue
        for needed in needed_inputs(file, frozenset(columns)):
            if needed in inputs:
                message = (
                    f"the experiment `{name}` of `{project.path.name}` cannot run this prompt: "
                    f"`{declared.dataset}` has no column `{needed}`{did_you_mean(needed, columns)}"
                )
                yield Finding(inputs[needed], message, severity="hint")


def _columns(experiment: DeclaredExperiment) -> tuple[str, ...] | None:
    from promptls.datasets.dataset_files import known_columns

    known = known_columns(experiment.dataset)
    return None if known.failure else known.columns


def _without_inputs(
    file: File, experiment: DeclaredExperiment, columns: tuple[str, ...]
) -> Iterator[Finding]:
    span = experiment.span(file, "dataset")
    if span is None:
        return
    for name in needed_inputs(file, frozenset(columns)):
        named = experiment.declared.dataset
        message = f"`{named}` has no column `{name}`, which is an input of the prompt"
        yield Finding(span, f"{message}{_suggestion(name, columns)}", related=_first_line(experiment))


def _in_rows(file: File, experiment: DeclaredExperiment, columns: tuple[str, ...]) -> Iterator[Finding]:
    """Yield rows that lack cells, and inputs that are misspelled in a row of JSON Lines."""
    from promptls.datasets.dataset_files import row_with_typo, row_without, short_row

    span = experiment.span(file, "dataset")
    if span is not None and (short := short_row(experiment.dataset)) is not None:
        row, column = short
        message = f"row {row.number} of `{experiment.declared.dataset}` has no cell for `{column}`"
        place = place_in_data(experiment.dataset, FilePlace(experiment.dataset, row.line), "the row")
        yield Finding(span, message, severity="warning", related=(place,))
    output = file.template.declarations.settings.output_key
    if span is not None and output is not None and output in columns and experiment.declared.metrics:
        unanswered = row_without(experiment.dataset, output)
        if unanswered is not None and row_with_typo(experiment.dataset, output) is None:
            message = f"row {unanswered.number} of `{experiment.declared.dataset}` lacks `{output}`"
            line = FilePlace(experiment.dataset, unanswered.line)
            place = place_in_data(experiment.dataset, line, "the row")
            yield Finding(span, message, severity="warning", related=(place,))
    needed = needed_inputs(file, frozenset())
    for name in needed if span is not None and experiment.dataset.suffix.lower() != ".csv" else ():
        found = row_with_typo(experiment.dataset, name) if name in columns else None
        if found is not None and span is not None and found[1] not in needed:
            other, meant = found
            message = (
                f"row {other.number} of `{experiment.declared.dataset}` lacks `{name}`; it has `{meant}`"
            )
            place = place_in_data(experiment.dataset, FilePlace(experiment.dataset, other.line), "the row")
            yield Finding(span, message, severity="warning", related=(place,))


def _texts(file: File, experiment: DeclaredExperiment, columns: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the columns of texts that the prompt needs as mappings."""
    span = experiment.span(file, "dataset")
    if span is None or experiment.dataset.suffix.lower() != ".csv":
        return
    for name, found in texts_used_as_mappings(file, columns):
        remedy = f"declare `{name}: {{type: object}}` in `input_keys` to read its cells as JSON"
        message = f"in `{experiment.declared.dataset}`, {found.message}; {remedy}"
        yield Finding(span, message, related=_first_line(experiment))


def _without_parameters(
    file: File, experiment: DeclaredExperiment, columns: tuple[str, ...]
) -> Iterator[Finding]:
    from promptls.metrics.metric_loading import is_bound

    output_key = file.template.declarations.settings.output_key
    named = named_metrics(file)
    for index, metric in enumerate(experiment.declared.metrics):
        span = experiment.span(file, "metrics", index)
        if span is None:
            continue
        for parameter, name in needed_columns(metric, named, Path(file.path).parent):
            if not is_bound(name, columns, output_key):
                dataset = experiment.declared.dataset
                message = f"`{dataset}` has no column for the parameter `{parameter}` of `{metric}`"
                if parameter != name:
                    named_span = file.template.declarations.value_span(
                        "metrics", metric, "columns", parameter
                    )
                    span = named_span or span
                    message = f"`{dataset}` has no column `{name}`, which is the `{parameter}` of `{metric}`"
                message += _suggestion(name.removeprefix("expected_"), columns)
                yield Finding(span, message, related=_first_line(experiment))


def _first_line(experiment: DeclaredExperiment) -> tuple[RelatedInformation, ...]:
    return (place_in_data(experiment.dataset, None, "the columns"),)
