"""What the page of the results asks for beside the view: rows, pairs, messages, notes, exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from promptls.experiments.history import RunSummary, find_run
from promptls.experiments.result_pages import (
    LARGEST_PAGE,
    Kind,
    RowQuery,
    found_places,
    messages_of,
    paired_page,
    paired_places,
    rows_at,
)
from promptls.experiments.row_choice import as_ranges
from promptls.results_view import wire
from promptls.results_view.export import write_rows
from promptls.results_view.notes import keep_note, notes_json, notes_of
from promptls.text.errors import FilePlace, UsageError, optional


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a run are asked for.

    Of those of the query, `changed_from` keeps those that are not as in another run, `noted` those with a
    thumb or a note, and `places` those at these places of the table.
    """

    query: RowQuery
    changed_from: str | None = None
    noted: bool = False
    places: frozenset[int] | None = None


def rows_answer(arguments: Mapping[str, Any]) -> wire.RowsAnswer:
    """Return `count` of the `wanted` rows of `run`, from the `start`th on, each with its position."""
    run = _run(arguments, "run")
    found = wanted_places(run, _wanted(arguments))
    start = optional(arguments, "start", int) or 0
    chosen = found[start : start + min(optional(arguments, "count", int) or 100, LARGEST_PAGE)]
    rows: list[wire.Row] = [
        {"place": place, "cells": cells} for place, cells in zip(chosen, rows_at(run, chosen), strict=True)
    ]
    return {"total": len(found), "start": start, "rows": rows}


def pairs_answer(arguments: Mapping[str, Any]) -> wire.PairsAnswer:
    """Return the rows of the runs `before` and `after` side by side, in pages.

    `differing` leaves out the others.
    """
    page = paired_page(
        _run(arguments, "before"),
        _run(arguments, "after"),
        differing=arguments.get("differing") is True,
        start=optional(arguments, "start", int) or 0,
        count=optional(arguments, "count", int) or 100,
    )
    return {"total": page["total"], "start": page["start"], "rows": page["rows"]}


def messages_answer(arguments: Mapping[str, Any]) -> wire.MessagesAnswer:
    """Return the messages of the row at `place` of `run` as they were sent; None if they are not kept."""
    run = _run(arguments, "run")
    cells = next(iter(rows_at(run, [_place(arguments)])))
    return {"messages": cast("list[wire.Message] | None", messages_of(run, cells.get("rendered_hash", "")))}


def note_answer(arguments: Mapping[str, Any]) -> wire.NoteAnswer:
    """Return all notes of `run`, once the one of the row at `place` is on disk."""
    run = _run(arguments, "run")
    text = optional(arguments, "text", str) or ""
    return {"notes": notes_json(keep_note(run, _place(arguments), optional(arguments, "thumb", str), text))}


def export_answer(arguments: Mapping[str, Any]) -> wire.ExportAnswer:
    """Return how many rows of `run` are now in the file `to`, in the given `form`."""
    run = _run(arguments, "run")
    to, form = optional(arguments, "to", str), optional(arguments, "form", str)
    if to is None or form is None:
        raise UsageError("the command needs `to`, the path of a file, and a `form`")
    places = wanted_places(run, _wanted(arguments))
    write_rows(Path(to), run, form, places)
    return {"rows": run.rows if form == "junit" else len(places)}


def numbers_answer(arguments: Mapping[str, Any]) -> wire.NumbersAnswer:
    """Return the rows that are `wanted`, by their numbers in the dataset, as a run takes them."""
    run = _run(arguments, "run")
    places = wanted_places(run, _wanted(arguments))
    numbers = {
        int(number) for cells in rows_at(run, places) if (number := cells.get("row_number", "")).isdigit()
    }
    if not numbers:
        raise UsageError("none of these rows says which row of a dataset it is", FilePlace(run.results))
    return {"rows": as_ranges(numbers), "count": len(numbers), "experiment": run.experiment}


def wanted_places(run: RunSummary, wanted: Wanted) -> Sequence[int]:
    """Return the places of the wanted rows in the run's table, in the query's order."""
    found = found_places(run, wanted.query)
    kept: list[frozenset[int]] = []
    if wanted.changed_from is not None:
        pairs = paired_places(find_run(wanted.changed_from), run, differing=True)
        kept.append(frozenset(after for _, after in pairs if after is not None))
    if wanted.noted:
        kept.append(frozenset(notes_of(run)))
    if wanted.places is not None:
        kept.append(wanted.places)
    return [place for place in found if all(place in each for each in kept)] if kept else found


def _wanted(arguments: Mapping[str, Any]) -> Wanted:
    given = optional(arguments, "wanted", dict) or {}
    kind = optional(given, "kind", str) or "all"
    if kind not in get_args(Kind):
        raise UsageError(
            f"there is no kind of rows `{kind}`", remedy=f"there are {', '.join(get_args(Kind))}"
        )
    equal = optional(given, "equal", dict) or {}
    places = optional(given, "places", list)
    return Wanted(
        RowQuery(
            kind=cast("Kind", kind),
            search=optional(given, "search", str) or "",
            equal=tuple((str(column), str(text)) for column, text in equal.items()),
            sort=optional(given, "sort", str),
            descending=given.get("descending") is True,
        ),
        changed_from=optional(given, "changedFrom", str),
        noted=given.get("noted") is True,
        places=None if places is None else frozenset(place for place in places if isinstance(place, int)),
    )


def _run(arguments: Mapping[str, Any], name: str) -> RunSummary:
    path = optional(arguments, name, str)
    if path is None:
        raise UsageError(f"the command needs `{name}`, the path of a run's table")
    return find_run(path)


def _place(arguments: Mapping[str, Any]) -> int:
    place = optional(arguments, "place", int)
    if place is None:
        raise UsageError("the command needs `place`, which row of the table, from 0")
    return place
