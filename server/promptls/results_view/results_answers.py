"""Responses to the requests of the results page, and rows as short text for coding agents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast, get_args

from promptls.datasets.cells import spreadsheet_line
from promptls.experiments import history
from promptls.experiments.comparison import compare_with
from promptls.experiments.history import RunSummary
from promptls.experiments.named_runs import find_run, known_runs
from promptls.experiments.result_pages import (
    LARGEST_PAGE,
    Kind,
    RowQuery,
    failures_at,
    found_places,
    messages_of,
    paired_page,
    paired_places,
    rows_at,
    table_columns,
)
from promptls.experiments.results_table import (
    JUDGING_COLUMNS,
    PREDICTED_PREFIX,
    REASON_SUFFIX,
    RESULT_COLUMNS,
)
from promptls.experiments.row_choice import as_ranges
from promptls.results_view import results_wire
from promptls.results_view.notes import Note, notes_json, notes_of, save_note
from promptls.results_view.results_wire import ExportForm
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UsageError, optional
from promptls.text.format import shorten_line


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The requested rows of a run.

    The rows of the query are filtered: `changed_from` selects those that differ from a different run, `noted`
    those with a thumb or a note, and `places` those at these indices of the table.
    """

    query: RowQuery
    changed_from: str | None = None
    noted: bool = False
    places: frozenset[int] | None = None


def rows_answer(arguments: Mapping[str, Any]) -> results_wire.RowsAnswer:
    """Return `count` rows of `run` that match `filter`, starting at index `start`, each with its position."""
    run = _run(arguments, "run")
    found = filtered_places(run, _row_filter(arguments))
    start = optional(arguments, "start", int) or 0
    chosen = found[start : start + min(optional(arguments, "count", int) or 100, LARGEST_PAGE)]
    rows: list[results_wire.RowJson] = [
        {"place": place, "cells": cells} for place, cells in zip(chosen, rows_at(run, chosen), strict=True)
    ]
    return {"total": len(found), "start": start, "rows": rows}


def text_answer(arguments: Mapping[str, Any]) -> results_wire.TextAnswer:
    """Return `count` rows of `run` as text for a coding agent, starting at index `start`, the worst first.

    `show` and `search` choose other rows (`chosen_places`).
    """
    run = _run(arguments, "run")
    show, search = optional(arguments, "show", str) or "worst", optional(arguments, "search", str) or ""
    start, count = optional(arguments, "start", int) or 0, optional(arguments, "count", int) or DEFAULT_COUNT
    page = rows_page(run, show, search, start, min(count, LARGEST_PAGE))
    return {"text": "\n".join([f"{run.name}: {page.lines[0]}", *page.lines[1:]])}


def pairs_answer(arguments: Mapping[str, Any]) -> results_wire.PairsAnswer:
    """Return a page of rows of the runs `before` and `after` side by side.

    `differing` selects only rows that differ.
    """
    page = paired_page(
        _run(arguments, "before"),
        _run(arguments, "after"),
        differing=arguments.get("differing") is True,
        start=optional(arguments, "start", int) or 0,
        count=optional(arguments, "count", int) or 100,
    )
    return {"total": page["total"], "start": page["start"], "rows": page["rows"]}


def messages_answer(arguments: Mapping[str, Any]) -> results_wire.MessagesAnswer:
    """Return the messages of the row at `place` of `run` as they were sent; None if they are not stored."""
    run = _run(arguments, "run")
    cells = next(iter(rows_at(run, [_place(arguments)])))
    return {
        "messages": cast(
            "list[results_wire.MessageJson] | None", messages_of(run, cells.get("rendered_hash", ""))
        )
    }


def note_answer(arguments: Mapping[str, Any]) -> results_wire.NoteAnswer:
    """Save the note of the row at `place`, and return all notes of `run`."""
    run = _run(arguments, "run")
    text = optional(arguments, "text", str) or ""
    return {"notes": notes_json(save_note(run, _place(arguments), optional(arguments, "thumb", str), text))}


def export_answer(arguments: Mapping[str, Any]) -> results_wire.ExportAnswer:
    """Write rows of `run` to the file `to` in the format `form`, and return their number."""
    run = _run(arguments, "run")
    to, form = optional(arguments, "to", str), optional(arguments, "form", str)
    if to is None or form is None:
        raise UsageError("the command needs `to`, the path of a file, and a `form`")
    places = filtered_places(run, _row_filter(arguments))
    write_rows(Path(to), run, form, places)
    return {"rows": run.rows if form in {"junit", "html"} else len(places)}


def numbers_answer(arguments: Mapping[str, Any]) -> results_wire.NumbersAnswer:
    """Return the rows that match `filter`, as numbers in the dataset in the syntax of run arguments."""
    run = _run(arguments, "run")
    places = filtered_places(run, _row_filter(arguments))
    numbers = {
        int(number) for cells in rows_at(run, places) if (number := cells.get("row_number", "")).isdecimal()
    }
    if not numbers:
        raise UsageError("none of these rows says which row of a dataset it is", FilePlace(run.results))
    return {"rows": as_ranges(numbers), "count": len(numbers), "experiment": run.experiment}


def filtered_places(run: RunSummary, row_filter: RowFilter) -> Sequence[int]:
    """Return the indices of the rows that match, in the run's table, in the query's order."""
    found = found_places(run, row_filter.query)
    selections: list[frozenset[int]] = []
    if row_filter.changed_from is not None:
        pairs = paired_places(find_run(row_filter.changed_from), run, differing=True)
        selections.append(frozenset(after for _, after in pairs if after is not None))
    if row_filter.noted:
        selections.append(frozenset(notes_of(run)))
    if row_filter.places is not None:
        selections.append(row_filter.places)
    return [place for place in found if all(place in each for each in selections)] if selections else found


def _row_filter(arguments: Mapping[str, Any]) -> RowFilter:
    fields = optional(arguments, "filter", dict) or {}
    kind = optional(fields, "kind", str) or "all"
    if kind not in get_args(Kind):
        raise UsageError(
            f"there is no kind of rows `{kind}`", remedy=f"there are {', '.join(get_args(Kind))}"
        )
    equal = optional(fields, "equal", dict) or {}
    places = optional(fields, "places", list)
    return RowFilter(
        RowQuery(
            kind=cast("Kind", kind),
            search=optional(fields, "search", str) or "",
            equal=tuple((str(column), str(text)) for column, text in equal.items()),
            sort=optional(fields, "sort", str),
            descending=fields.get("descending") is True,
        ),
        changed_from=optional(fields, "changedFrom", str),
        noted=fields.get("noted") is True,
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


_MAX_CHANGES: Final = 200
"""The maximum number of changed rows in a response."""


def view_answer(arguments: Mapping[str, Any]) -> results_wire.ResultsView:
    """Return the view of the requested runs; with `quick`, only the data in their manifests.

    These are the run whose table is `run`, or the last one of the prompt at `path` and its `experiment`
    (with `complete`, the last complete one, if any), preceded by those of the tables `against`, or by its
    baseline: the previous complete run of the same experiment and data, else the latest run of another prompt
    over the same data. `unsaved` are texts of files by their path.
    """
    from promptls.results_view.view import results_view

    return results_view(_requested_runs(arguments), quick=arguments.get("quick") is True)


def report_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of the same runs as `html`, with the shown `run` and its `name`."""
    from promptls.results_view.html_report import report_html

    runs = _requested_runs(arguments)
    return {"html": report_html(runs), "run": str(runs[-1].results), "name": runs[-1].name}


def compare_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the comparison in sentences, and the rows whose score changed.

    `runs` are two tables, or prompts for their latest complete runs, the older one first; without them, the
    latest complete run of the experiment is compared with its baseline.
    """
    named = optional(arguments, "runs", list)
    before, after = _before_and_after(arguments) if named is None else _named(named)
    found = compare_with(before, [after])[0]
    sentences = [f"{metric.metric}: {metric.message}" for metric in found.metrics]
    return {
        "before": {"run": str(found.before.results), "name": found.before.name},
        "after": {"run": str(found.after.results), "name": found.after.name},
        "sentences": [*sentences, *found.notes],
        "changes": [change._asdict() for change in found.changes[:_MAX_CHANGES]],
        "message": "; ".join(sentences),
    }


def _requested_runs(arguments: Mapping[str, Any]) -> list[RunSummary]:
    """Return the runs to compare with, followed by the shown one."""
    named = optional(arguments, "run", str)
    against = optional(arguments, "against", list)
    run = _of_prompt(arguments) if named is None else _of_table(Path(named), _unsaved(arguments))
    if against is None:
        before = run.previous or _of_other_prompt(run)
        return [run] if before is None else [before, run]
    others = [find_run(str(each)) for each in dict.fromkeys(against)]
    return [*(other for other in others if other.results != run.results), run]


_MAX_OTHERS: Final = 100


def _of_other_prompt(run: RunSummary) -> RunSummary | None:
    """Return the latest run of another prompt over the same rows of the same data, with a common metric."""
    if run.dataset_hash is None:
        return None
    metrics = {metric.name for metric in run.metrics}
    for known in known_runs(run.results.parent, limit=_MAX_OTHERS):
        if (
            known.status == "finished"
            and (known.dataset_hash, known.rows_chosen) == (run.dataset_hash, run.rows_chosen)
            and known.prompt != run.prompt
            and metrics & known.values.keys()
            and known.results.is_file()
        ):
            return history.read_run(known.manifest)
    return None


def _of_prompt(arguments: Mapping[str, Any]) -> RunSummary:
    path, experiment = _path(arguments), optional(arguments, "experiment", str)
    run = history.last_run(path, experiment=experiment, unsaved=_unsaved(arguments))
    if run is None:
        what = f"the experiment `{experiment}`" if experiment else "the prompt"
        remedy = f"run it by the lens over it, or with `promptls run {path.name}`"
        raise UsageError(f"{what} has not been run yet", FilePlace(path), remedy)
    if arguments.get("complete") is True and not run.is_complete:
        return history.last_runs(path, run.experiment, unsaved=_unsaved(arguments)).scored or run
    return run


def _of_table(table: Path, unsaved: Mapping[str, str]) -> RunSummary:
    """Return the run of a table, preceded by its baseline."""
    run = history.read_run(table.with_suffix(".json"))
    runs = history.runs_of(run.prompt, experiment=run.experiment, unsaved=unsaved)
    found = next((each for each in runs if each.name == run.name), None)
    return run if found is None else history.with_baseline(found, runs)


def _named(runs: Sequence[Any]) -> tuple[RunSummary, RunSummary]:
    match runs:
        case [before, after]:
            return find_run(str(before), complete=True), find_run(str(after), complete=True)
    raise UsageError("two runs are needed", remedy='pass {"runs": ["<older>.csv", "<newer>.csv"]}')


def _before_and_after(arguments: Mapping[str, Any]) -> tuple[RunSummary, RunSummary]:
    path, experiment = _path(arguments), optional(arguments, "experiment", str)
    latest = history.last_run(path, experiment=experiment)
    name = experiment or (latest.experiment if latest is not None else None)
    scored = history.last_runs(path, name, unsaved=_unsaved(arguments)).scored if name is not None else None
    if scored is None or scored.previous is None:
        said = (
            "has not been run yet"
            if scored is None
            else "has no complete run"
            if not scored.is_complete
            else "has only one complete run over this data"
        )
        raise UsageError(
            f"the prompt {said}, so there is nothing to compare", FilePlace(path), "run all rows again"
        )
    return scored.previous, scored


def _path(arguments: Mapping[str, Any]) -> Path:
    path = optional(arguments, "path", str)
    if path is None:
        raise UsageError("the command needs `path`, of a prompt file, or `run`, of a run's table")
    return Path(path)


def _unsaved(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {str(path): str(text) for path, text in (optional(arguments, "unsaved", dict) or {}).items()}


FORMS: tuple[ExportForm, ...] = get_args(ExportForm)


def write_rows(path: Path, run: RunSummary, form: str, places: Sequence[int]) -> None:
    """Write the rows at these positions to the file at `path` atomically; raises OSError.

    CSV and JSON lines have the columns of the table, followed by `thumb` and `note` if any row has one. CSV
    is for spreadsheets: a cell that could be evaluated as a formula is preceded by an apostrophe. JSON lines
    contain the unchanged cells. JUnit and HTML are reports on the whole run. Raises `UsageError` for other
    formats.
    """
    if form not in FORMS:
        raise UsageError(f"rows cannot be written as `{form}`", remedy=f"there are {', '.join(FORMS)}")
    with replace_file(path) as stream:
        stream.writelines(_pieces(run, form, places))


def _pieces(run: RunSummary, form: str, places: Sequence[int]) -> Iterator[str]:
    if form == "junit":
        from promptls.experiments.verdicts import junit_report

        yield junit_report([(run, ())])
        return
    if form == "html":
        from promptls.results_view.html_report import report_html

        yield report_html([run])
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


DEFAULT_COUNT: Final = 10
"""The default number of rows in an answer."""
_MAX_CELL: Final = 300
"""The number of characters of a cell in an answer."""


_MAX_RANKED: Final = 5000
"""The number of failing rows that are sorted by how many metrics they fail."""


def chosen_places(run: RunSummary, show: str, search: str = "") -> Sequence[int]:
    """Return the indices of the rows in the run's table, in the order to show them.

    `show` is `worst` for all rows, the worst first; `failing` for those that are not good; `error` for those
    without an answer; or `all`.
    """
    if show == "all":
        return found_places(run, RowQuery(search=search))
    if show == "error":
        return found_places(run, RowQuery("error", search))
    wrong = found_places(run, RowQuery("failing", search))[:_MAX_RANKED]
    ranked = sorted(zip(failures_at(run, wrong), wrong, strict=True), key=lambda each: -each[0])
    failing = [
        *found_places(run, RowQuery("error", search)),
        *found_places(run, RowQuery("problem", search)),
        *(place for _, place in ranked),
        *found_places(run, RowQuery("failing", search)),
    ]
    numeric = next((metric for metric in run.metrics if metric.kind == "numeric"), None)
    rest = (
        found_places(run, RowQuery(search=search))
        if numeric is None
        else found_places(run, RowQuery(search=search, sort=numeric.name, descending=numeric.lower_is_better))
    )
    has_verdict = any(metric.kind == "discrete" for metric in run.metrics)
    return list(dict.fromkeys([*failing, *(() if show == "failing" and has_verdict else rest)]))


class RowsPage(NamedTuple):
    """Some of `total` rows, as data, and as lines of text, the first of which says what rows these are."""

    total: int
    rows: list[dict[str, Any]]
    lines: list[str]


def rows_page(run: RunSummary, show: str, search: str, start: int, count: int) -> RowsPage:
    """Return `count` of the rows of `chosen_places`, starting at index `start`."""
    places = chosen_places(run, show, search)
    rows = readable_rows(run, places[start : start + count])
    return RowsPage(len(places), rows, [_page_line(start, len(rows), len(places)), *row_lines(rows)])


def readable_rows(run: RunSummary, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the rows with these indices, without the columns that only promptls needs."""
    metrics = [metric.name for metric in run.metrics]
    own = {"id", "response", *RESULT_COLUMNS, *JUDGING_COLUMNS, *metrics}
    own |= {f"{name}{REASON_SUFFIX}" for name in metrics}
    several = len(run.models) > 1
    found = []
    for cells in rows_at(run, places):
        row: dict[str, Any] = {"row": cells.get("row_number"), "id": cells.get("id")}
        if several:
            row["model"] = cells.get("model")
        row["data"] = {
            name: shorten_line(value, _MAX_CELL)
            for name, value in cells.items()
            if value and name not in own and not name.startswith(PREDICTED_PREFIX)
        }
        row["answer"] = shorten_line(cells.get("response") or "", _MAX_CELL)
        row |= {name: value for name in ("error", "problem") if (value := cells.get(name))}
        row["scores"] = {
            name: {
                "score": cells.get(name, ""),
                "reason": shorten_line(cells.get(f"{name}{REASON_SUFFIX}") or "", _MAX_CELL),
            }
            for name in metrics
        }
        found.append(row)
    return found


def row_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of `readable_rows`."""
    for row in rows:
        model = f", {row['model']}" if "model" in row else ""
        yield f"row {row['row']} (id {row['id']}{model})"
        yield from (f"  {name}: {value}" for name, value in row["data"].items())
        yield f"  answer: {row['answer']}"
        yield from (f"  {name}: {row[name]}" for name in ("error", "problem") if name in row)
        for name, score in row["scores"].items():
            yield f"  {name}: {score['score']}" + (f" ({score['reason']})" if score["reason"] else "")


def _page_line(start: int, count: int, total: int) -> str:
    """Return which rows are shown: `rows 1 to 10 of 50`."""
    if not count:
        return f"no rows after row {start} of {total}" if total else "no rows"
    return f"rows {start + 1} to {start + count} of {total}"
