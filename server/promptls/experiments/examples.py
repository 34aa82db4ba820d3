"""Experiments over the few-shot examples of a prompt, and the latest result of an example.

An example provides its inputs, its output under the output key and, if that is a mapping, the output's
keys, like the columns of a dataset. Metrics that need other columns are omitted.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.cells import joined_cell
from promptls.experiments.experiment import Experiment
from promptls.experiments.history import RunSummary
from promptls.experiments.manifest import prompt_stem
from promptls.experiments.row_choice import RowChoice, example_number, is_of_examples
from promptls.experiments.store import FOLDER, make_cache_folder
from promptls.metrics.metric_loading import check_binding, load_metric
from promptls.security.files import cached_by_file, open_text
from promptls.security.written_files import replace_file
from promptls.semantic.template import Template
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import plural
from promptls.workspace.disk import source_of

_TEXTS = frozenset({".csv", ".tsv"})
"""Dataset formats in which all values are texts, as their metrics expect."""


def over_examples(experiment: Experiment, rows: str) -> tuple[Experiment, RowChoice]:
    """Write the examples selected by `rows` to a file; return the experiment over them, and the choice.

    Raises `UsageError` if the prompt has no examples or not this one, and `UserError` if
    they cannot be written.
    """
    template = Template(source_of(str(experiment.prompt), experiment.text))
    examples = [example.data for example in template.declarations.examples]
    number = example_number(rows)
    if not examples or (number is not None and not 1 <= number <= len(examples)):
        said = f"has {plural(len(examples), 'example')}" if examples else "declares no examples"
        raise UsageError(
            f"the prompt {said}, so `{rows}` cannot be run",
            FilePlace(experiment.prompt),
            "declare them: `examples: [{<input>: …, <output key>: …}]`",
        )
    as_text = experiment.dataset.suffix.lower() in _TEXTS
    made = [
        _row(each, index, experiment.output_key, as_text=as_text) for index, each in enumerate(examples, 1)
    ]
    path = _written(made, experiment)
    numbers = range(1, len(made) + 1) if number is None else [number]
    chosen = [made[each - 1] for each in numbers]
    columns = [column for column in chosen[0] if all(column in row for row in chosen)]
    metrics = tuple(name for name in experiment.metrics if _can_score(name, columns, experiment))
    choice = RowChoice(rows, numbers=frozenset(numbers))
    return replace(experiment, dataset=path, metrics=metrics, thresholds={}), choice


def _row(example: Mapping[str, Any], number: int, output_key: str | None, *, as_text: bool) -> dict[str, Any]:
    output = example.get(output_key) if output_key is not None else None
    row = {"id": f"example {number}", **(output if isinstance(output, dict) else {}), **example}
    return {str(key): joined_cell(value) for key, value in row.items()} if as_text else row


def _written(rows: list[dict[str, Any]], experiment: Experiment) -> Path:
    folder = experiment.folder / FOLDER
    path = folder / "examples" / f"{prompt_stem(experiment.prompt)}.jsonl"
    try:
        make_cache_folder(folder)
        path.parent.mkdir(exist_ok=True)
        with replace_file(path) as stream:
            stream.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    except OSError as error:
        raise UserError(
            f"the examples cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(path),
            "free some space, or correct the permissions of the folder",
        ) from None
    return path


def _can_score(name: str, columns: list[str], experiment: Experiment) -> bool:
    metric = load_metric(name, experiment.base, experiment.named_metrics)
    try:
        check_binding(metric, columns, experiment.output_key)
    except UsageError:
        return False
    return True


_MAX_ROWS: Final = 5000


class ExampleResult(NamedTuple):
    """A line of a run's table, by column."""

    run: RunSummary
    cells: Mapping[str, str]


def example_result(
    number: int, example: Mapping[str, Any], output_key: str | None, newest_first: Iterable[RunSummary]
) -> ExampleResult | None:
    """Return the latest result of an example, by its number counted from 1, in an experiment's runs, if any.

    A run over examples is only used if the example's inputs have not changed since.
    """
    inputs = {str(key): _cells(value) for key, value in example.items() if str(key) != output_key}
    if not inputs:
        return None
    for run in newest_first:
        table = known_table(run.results)
        for place in table.places(inputs):
            cells = table.rows[place]
            if not is_of_examples(run.rows_chosen) or cells.get("row_number") == str(number):
                return ExampleResult(run, cells)
    return None


class Table(NamedTuple):
    """The first lines of a run's table, and a lookup cache by column and value."""

    rows: tuple[dict[str, str], ...]
    by_value: dict[str, dict[str | None, list[int]]]

    def places(self, inputs: Mapping[str, tuple[str, ...]]) -> Iterator[int]:
        """Yield the indices of the lines in which each column has one of the values."""
        first = next(iter(inputs))
        if first not in self.by_value:
            found = self.by_value[first] = {}
            for place, cells in enumerate(self.rows):
                found.setdefault(_cell(cells, first), []).append(place)
        for value in inputs[first]:
            for place in self.by_value[first].get(value, ()):
                if all(_cell(self.rows[place], key) in values for key, values in inputs.items()):
                    yield place


def _cell(cells: Mapping[str, str], column: str) -> str | None:
    return cells.get(f"row_{column}", cells.get(column))


def _cells(value: Any) -> tuple[str, ...]:
    """Return the possible representations of a value in a table: JSON, and for lists also joined with `;`."""
    if isinstance(value, str):
        return (value,)
    written = [json.dumps(value, ensure_ascii=False, default=str)]
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        written.append(";".join(map(str, value)))
    return (*written, *([""] if value is None else []))


@cached_by_file(8)
def known_table(results: Path) -> Table:
    """Return the first 5000 lines of a run's table, cached until it changes; none if it cannot be read."""
    try:
        with open_text(results) as stream:
            return Table(tuple(islice(csv.DictReader(stream), _MAX_ROWS)), {})
    except (OSError, ValueError, csv.Error):
        return Table((), {})
