"""The experiments of a workspace as tests: prompt files, experiments, and their rows and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.datasets.files import Row
from promptls.ide.experiments import experiment_names
from promptls.text.steps import Steps
from promptls.workspace.snapshot import Snapshot

MAX_ROWS = 20_000
"""Rows of one dataset that are listed."""

_MAX_LABEL = 70


@dataclass(frozen=True, slots=True)
class PromptTests:
    """A prompt file with its experiments' names, and the offset and the words of each of its examples."""

    path: str
    experiments: tuple[str, ...]
    examples: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class RowTest:
    """A row: its number, from 1, the line on which it begins, from 0, and the words that it is known by."""

    number: int
    line: int
    label: str


def prompts_with_experiments(snapshot: Snapshot) -> Steps[list[PromptTests]]:
    """Yield the prompt files of the workspace that have experiments, by path; one file a step."""
    found: list[PromptTests] = []
    for path in sorted({*snapshot.graph.paths, *snapshot.open_files}):
        tests = prompt_tests(snapshot, path)
        if tests is not None:
            found.append(tests)
        yield
    return found


def prompt_tests(snapshot: Snapshot, path: str) -> PromptTests | None:
    """Return the tests of one file; None if it has none."""
    names = experiment_names(snapshot, path)
    template = snapshot.template(path)
    if not names or template is None:
        return None
    output = template.declarations.settings.output_key
    examples = tuple(
        (example.span.start, _words({key: value for key, value in example.data.items() if key != output}))
        for example in template.declarations.examples
    )
    return PromptTests(path, names, examples)


def dataset_of(snapshot: Snapshot, path: str, experiment: str) -> Path | None:
    """Return the dataset of an experiment that the file or its project declares; None for one in Python."""
    template = snapshot.template(path)
    own = (template.declarations.settings.experiments or {}) if template is not None else {}
    if experiment in own:
        return (Path(path).parent / own[experiment].dataset).resolve()
    project = snapshot.project(path)
    shared = project.settings.experiments.get(experiment)
    return (project.root / shared.dataset).resolve() if shared is not None else None


def row_tests(dataset: Path) -> tuple[list[RowTest], bool]:
    """Return the rows of the dataset, at most `MAX_ROWS`, and whether there are more.

    Raises `UserError` for one that cannot be read.
    """
    from promptls.datasets.files import open_dataset

    found: list[RowTest] = []
    for row in open_dataset(dataset).rows():
        if len(found) >= MAX_ROWS:
            return found, True
        found.append(RowTest(row.number, row.line, row_label(row)))
    return found, False


def row_label(row: Row) -> str:
    """Return the row's id, and what its first columns say."""
    words = _words({key: value for key, value in row.values.items() if key != "id"})
    return f"{row.id}: {words}" if words else row.id


def _words(values: Mapping[str, Any]) -> str:
    """Return the first value that says something, on one line."""
    for text in _texts(values):
        return text if len(text) <= _MAX_LABEL else f"{text[:_MAX_LABEL]}…"
    return ""


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    for value in values.values():
        text = " ".join(str(value).split())
        if text:
            yield text
