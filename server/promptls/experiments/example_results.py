"""The newest result of an example: of a run over it, or over a row that has the same inputs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.experiments.example_choice import is_of_examples
from promptls.experiments.history import RunSummary
from promptls.security.files import kept_by_file, open_text

_MAX_ROWS: Final = 5000


class ExampleResult(NamedTuple):
    """The line of a run's table, by its columns; `place` is its place in the table, from 1."""

    run: RunSummary
    cells: Mapping[str, str]
    place: int


def example_result(
    number: int, example: Mapping[str, Any], output_key: str | None, newest_first: Iterable[RunSummary]
) -> ExampleResult | None:
    """Return the newest result of the example of this number, from 1, in the runs of an experiment, if any.

    A run of the examples counts as long as the example has the inputs that it had then.
    """
    inputs = {str(key): _cells(value) for key, value in example.items() if str(key) != output_key}
    if not inputs:
        return None
    for run in newest_first:
        table = known_table(run)
        for place in table.places(inputs):
            cells = table.rows[place]
            if not is_of_examples(run.rows_chosen) or cells.get("row_number") == str(number):
                return ExampleResult(run, cells, place + 1)
    return None


class Table(NamedTuple):
    """The first lines of a run's table, and what was looked up in them, by column and value."""

    rows: tuple[dict[str, str], ...]
    by_value: dict[str, dict[str | None, list[int]]]

    def places(self, inputs: Mapping[str, tuple[str, ...]]) -> Iterator[int]:
        """Yield the places, from 0, of the lines whose columns have one of these values each."""
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
    """Return the ways in which a table may have a value: as JSON, and lists also joined with `;`."""
    if isinstance(value, str):
        return (value,)
    written = [json.dumps(value, ensure_ascii=False, default=str)]
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        written.append(";".join(map(str, value)))
    return (*written, *([""] if value is None else []))


def known_table(run: RunSummary) -> Table:
    """Return the first 5000 lines of the run's table, read again when it has changed.

    None if it is gone.
    """
    return _table(run.results)


@kept_by_file(8)
def _table(results: Path) -> Table:
    try:
        with open_text(results, newline="") as stream:
            return Table(tuple(islice(csv.DictReader(stream), _MAX_ROWS)), {})
    except (OSError, ValueError, csv.Error):
        return Table((), {})
