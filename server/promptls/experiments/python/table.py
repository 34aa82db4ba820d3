"""The table of a code-defined experiment's run, made of its journal."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from promptls.datasets.atomic import replaced
from promptls.datasets.cells import text_cell
from promptls.experiments.history import RunSummary, row_results
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.stored_results import score_value
from promptls.experiments.unfinished import UnfinishedRun

OWN_COLUMNS: Final = ("error", "model", "repeat", "row_number", "row_hash", "experiment_name")
"""What stands behind the columns that the function gives."""


def write_python_table(path: Path, run: UnfinishedRun, experiment: str) -> None:
    """Write the table of the run atomically; raises OSError.

    The columns are those of all rows in the order in which they first appear, then `OWN_COLUMNS`. The
    results are read twice, and no more than one of them is in memory.
    """
    columns = dict.fromkeys(name for result in run.results() for name in result.values)
    header = list(dict.fromkeys([*(name for name in columns if name not in OWN_COLUMNS), *OWN_COLUMNS]))
    with replaced(path) as stream:
        writer = csv.writer(stream, lineterminator="\r\n")
        writer.writerow(header)
        for result in run.results():
            cells = {**result.values, **_own_cells(result, experiment)}
            writer.writerow([text_cell(cells.get(column)) for column in header])


def python_cells(result: RowResult, experiment: str) -> dict[str, str]:
    """Return the result as the table will have it."""
    cells = {**result.values, **_own_cells(result, experiment)}
    return {name: text_cell(value) for name, value in cells.items()}


def _own_cells(result: RowResult, experiment: str) -> dict[str, Any]:
    return {
        "error": result.error,
        "model": result.model,
        "repeat": result.repeat,
        "row_number": result.number,
        "row_hash": result.digest,
        "experiment_name": result.values.get("experiment_name") or experiment,
    }


def good_rows(run: RunSummary) -> Iterator[RowResult]:
    """Yield the results of the rows of a run that did not fail; every value but the scores is text."""
    for cells in row_results(run):
        if cells["error"] or not cells["row_number"].isdigit():
            continue
        values = {name: value for name, value in cells.items() if name not in OWN_COLUMNS[:-1]}
        scores = {
            metric.name: Score(
                score_value(cells[metric.name], metric), cells.get(f"{metric.name}_reason") or None
            )
            for metric in run.metrics
            if cells.get(metric.name)
        }
        number = int(cells["row_number"])
        yield RowResult(
            cells.get("id") or str(number),
            number,
            number - 1,
            cells["model"],
            int(cells["repeat"]) if cells.get("repeat", "").isdigit() else 1,
            values,
            scores=scores,
            digest=cells.get("row_hash") or "",
            cached=True,
        )
