"""The rows of a run for other programs: CSV, JSON lines, JUnit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from promptls.datasets.atomic import replaced
from promptls.datasets.cells import spreadsheet_line
from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import rows_at, table_columns
from promptls.results_view.notes import Note, notes_of
from promptls.results_view.wire import ExportForm
from promptls.text.errors import UsageError

FORMS: tuple[ExportForm, ...] = get_args(ExportForm)


def write_rows(path: Path, run: RunSummary, form: str, places: Sequence[int]) -> None:
    """Write the rows at these positions to the file at `path` atomically; raises OSError.

    CSV and JSON lines have the columns of the table with `thumb` and `note` behind them, where any row has
    one. CSV is for spreadsheets: a cell that one would calculate gets an apostrophe ahead. JSON lines hold
    the cells unchanged. JUnit is the report of the whole run. Raises `UsageError` for another form.
    """
    if form not in FORMS:
        raise UsageError(f"rows cannot be written as `{form}`", remedy=f"there are {', '.join(FORMS)}")
    with replaced(path) as stream:
        stream.writelines(_pieces(run, form, places))


def _pieces(run: RunSummary, form: str, places: Sequence[int]) -> Iterator[str]:
    if form == "junit":
        from promptls.experiments.thresholds import render

        yield render([(run, ())])
        return
    notes = notes_of(run)
    columns = [*table_columns(run), *(("thumb", "note") if notes else ())]
    rows = (
        _with_note(cells, notes.get(place)) for place, cells in zip(places, rows_at(run, places), strict=True)
    )
    if form == "jsonl":
        for cells in rows:
            plain = {column: cells.get(column, "") for column in columns}
            yield json.dumps(plain, ensure_ascii=False) + "\n"
        return
    yield spreadsheet_line(columns)
    for cells in rows:
        yield spreadsheet_line([cells.get(column, "") for column in columns])


def _with_note(cells: dict[str, str], note: Note | None) -> dict[str, str]:
    return cells if note is None else {**cells, "thumb": note.thumb or "", "note": note.text}
