"""Dataset of an experiment is missing or cannot be read.

## What it does

Reports the `dataset` of an experiment in the file's header if the file does not exist, if its extension
is not that of a dataset, or if its columns cannot be read. In a file of up to half a megabyte, rows that
cannot be read are reported too. The path is relative to the prompt file's folder. The `path` of an
evaluation prompt is checked if it has the extension of a dataset, and so are the files of its splits.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.datasets.dataset_files import SUFFIXES, known_columns, known_failure
from promptls.lint.analysis.declared_experiments import (
    NameProblem,
    declared_experiments,
    place_in_data,
)
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.security.files import current_scope, is_file, is_folder, names_in
from promptls.semantic.kind import Kind
from promptls.text.positions import Span

_DATASET_ENDINGS: Final = (".csv", ".jsonl", ".ndjson", ".parquet")
"""The endings that only datasets have; JSON files are used by other programs as well."""


def check(file: File) -> Iterator[Finding]:
    """Yield the datasets that cannot be read, at the places of their names."""
    found: dict[Span, NameProblem] = {}
    for experiment in declared_experiments(file):
        span = experiment.span(file, "dataset")
        problem = dataset_problem(experiment.declared.dataset, experiment.dataset, "this prompt")
        if span is not None and problem is not None:
            found[span] = problem
    for span, problem in (*found.items(), *_of_evaluation(file)):
        yield problem.finding(file, span)


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
        return
    reader = declared.data.get("reader_cfg")
    files = [Path(name) for name in names_in(path)] if is_folder(path) else []
    splits = sorted({each.stem for each in files if each.suffix.lower() in SUFFIXES})
    for key in ("train_split", "test_split"):
        split = reader.get(key) if isinstance(reader, dict) else None
        place = declared.value_span("reader_cfg", key)
        if isinstance(split, str) and place is not None and splits and split not in splits:
            yield place, NameProblem.near(f"`{named}` has no file for the split `{split}`", split, splits)


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


RULE = Rule(check, severity="error", kinds=DECLARING_KINDS)
