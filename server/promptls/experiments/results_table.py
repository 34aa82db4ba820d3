"""The table of a run: a CSV file with a line for each result, which is written when the run ends."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from promptls.datasets.cells import joined_cell, text_cell
from promptls.datasets.dataset_files import Row
from promptls.experiments.history import MetricSummary, RunSummary, row_results
from promptls.experiments.plan import Plan
from promptls.experiments.scores import RowResult, Score
from promptls.experiments.unfinished import UnfinishedRun
from promptls.security.written_files import replace_file
from promptls.text.errors import parse_json

REASON_SUFFIX = "_reason"
PREDICTED_PREFIX = "predicted_"
JUDGING_COLUMNS = ("judge_calls", "judge_tokens", "judge_cost")


def write_table(path: Path, plan: Plan, run: UnfinishedRun) -> None:
    """Write the table of the run atomically; raises OSError.

    The columns: those of the dataset, `response`, `predicted_<key>` for each key of the JSON schema, each
    metric and its `_reason`, `error`, `problem` (what is wrong with the answer's form), `answer_note` (what
    was changed in it on receipt, or the numbers by which labels were compared), tokens, seconds, cost, the
    properties of the request, and the usage of its judges. Columns of the dataset with one of these names are
    renamed to `row_<name>`, or to `row_row_<name>` if the dataset has that column too.
    """
    predicted = predicted_keys(plan.experiment.json_schema)
    metrics = [metric.name for metric in plan.metrics]
    own = [*_own_columns(predicted, metrics), *(JUDGING_COLUMNS if plan.asks else ())]
    names = _names_in_table(plan.dataset.columns, own)
    header = [*([] if "id" in names else ["id"]), *names.values(), *own]
    with replace_file(path) as stream:
        writer = csv.DictWriter(stream, header, lineterminator="\r\n")
        writer.writeheader()
        for result in run.results():
            row = {names[column]: joined_cell(result.values.get(column)) for column in names}
            judging = _judging_cells(result) if plan.asks else {}
            writer.writerow(
                {"id": result.id, **row, **_own_cells(result, plan.experiment.name, predicted), **judging}
            )


def predicted_keys(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the top-level keys of answers that match `schema`."""
    properties = (schema or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


RESULT_COLUMNS: Final = (
    "error",
    "problem",
    "answer_note",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "seconds",
    "cost",
    "cached",
    "finish_reason",
    "model",
    "repeat",
    "row_number",
    "rendered_hash",
    "experiment_name",
)
"""The columns that every table has after those of the dataset, the answer and the metrics."""


def _own_columns(predicted: list[str], metrics: list[str]) -> list[str]:
    return [
        "response",
        *(f"{PREDICTED_PREFIX}{key}" for key in predicted),
        *(name for metric in metrics for name in (metric, f"{metric}{REASON_SUFFIX}")),
        *RESULT_COLUMNS,
    ]


def _names_in_table(columns: Collection[str], own: Collection[str]) -> dict[str, str]:
    """Return the name in the table of each column of the dataset."""
    names: dict[str, str] = {}
    taken = {*columns, *own}
    for column in columns:
        name = column
        if column in own and column != "id":
            while name in taken:
                name = f"row_{name}"
            taken.add(name)
        names[column] = name
    return names


def plain_cells(
    result: RowResult, experiment: str, schema: Mapping[str, Any] | None, metrics: list[str]
) -> dict[str, str]:
    """Return the result's cells in the table, without the usage of its judges."""
    predicted = predicted_keys(schema)
    own = _own_columns(predicted, metrics)
    names = _names_in_table(result.values, own)
    values = {names[column]: joined_cell(value) for column, value in result.values.items()}
    return {"id": result.id, **values, **_own_cells(result, experiment, predicted)}


def _own_cells(result: RowResult, experiment: str, predicted: list[str]) -> dict[str, str]:
    answer = _answer(result.response)
    cells: dict[str, Any] = {
        "response": result.response,
        "error": result.error,
        "problem": result.problem,
        "answer_note": result.note,
        "cached": "yes" if result.cached else None,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "cached_input_tokens": result.cached_input_tokens,
        "reasoning_tokens": result.reasoning_tokens,
        "seconds": None if result.seconds is None else round(result.seconds, 3),
        "cost": result.cost,
        "finish_reason": result.finish_reason,
        "model": result.model,
        "repeat": result.repeat,
        "row_number": result.number,
        "rendered_hash": result.digest,
        "experiment_name": experiment,
    }
    cells |= {f"{PREDICTED_PREFIX}{key}": answer.get(key) for key in predicted}
    for name, score in result.scores.items():
        cells |= {name: score.value, f"{name}{REASON_SUFFIX}": score.reason}
    return {name: joined_cell(value) for name, value in cells.items()}


def _judging_cells(result: RowResult) -> dict[str, str]:
    taken = result.judging or {}
    return {name: joined_cell(taken.get(name.removeprefix("judge_"))) for name in JUDGING_COLUMNS}


def _answer(response: str | None) -> dict[str, Any]:
    try:
        value = json.loads(response or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def good_results(run: RunSummary, plan: Plan, again: Collection[str]) -> Iterator[RowResult]:
    """Yield the results of `run` without an error that a run of `plan` would reproduce.

    Missing scores, and those of the metrics `again`, are listed in the result's `unscored`.
    Results whose row renders differently now, or that are not part of the plan, are skipped.
    """
    rows: dict[int, tuple[Row, str]] = {row.number: (row, rendered.digest) for row, rendered in plan.rendered}
    models = {model.name for model in plan.experiment.models}
    metrics = [metric.name for metric in plan.metrics]
    known = [metric for metric in run.metrics if metric.name in metrics and metric.name not in again]
    for cells in row_results(run):
        with contextlib.suppress(ValueError, KeyError):
            found = rows.get(int(cells["row_number"]))
            if found is None or cells["error"] or cells["rendered_hash"] != found[1]:
                continue
            if cells["model"] in models and int(cells["repeat"]) <= plan.experiment.repeats:
                result = _result(cells, found[0], known)
                there = {name for name, score in result.scores.items() if score.value is not None}
                yield replace(result, unscored=[name for name in metrics if name not in there])


def good_digests(run: RunSummary) -> dict[tuple[int, str, int], str]:
    """Return the digest of the rendered row for each result without an error, by row, model and repeat."""
    found = {}
    for cells in row_results(run):
        with contextlib.suppress(ValueError, KeyError):
            if not cells["error"]:
                key = (int(cells["row_number"]), cells["model"], int(cells["repeat"]))
                found[key] = cells["rendered_hash"]
    return found


def _result(cells: Mapping[str, str], row: Row, metrics: list[MetricSummary]) -> RowResult:
    return RowResult(
        id=row.id,
        number=row.number,
        line=row.line,
        model=cells["model"],
        repeat=int(cells["repeat"]),
        values=row.values,
        response=cells["response"],
        scores={metric.name: _score(cells, metric) for metric in metrics},
        input_tokens=_whole(cells["input_tokens"]),
        output_tokens=_whole(cells["output_tokens"]),
        cached_input_tokens=_whole(cells.get("cached_input_tokens") or ""),
        reasoning_tokens=_whole(cells.get("reasoning_tokens") or ""),
        seconds=_number(cells["seconds"]),
        cost=_number(cells["cost"]),
        finish_reason=cells["finish_reason"] or None,
        digest=cells["rendered_hash"],
        problem=cells.get("problem") or None,
        note=cells.get("answer_note") or None,
        # This run did not pay for the answer.
        cached=True,
    )


def _score(cells: Mapping[str, str], metric: MetricSummary) -> Score:
    text = cells[metric.name]
    reason = cells.get(f"{metric.name}{REASON_SUFFIX}") or None
    return Score(_score_value(text, metric), reason)


def _score_value(text: str, metric: MetricSummary) -> Any:
    """Parse the text of a score in the table; None if there is no score."""
    if not text:
        return None
    if metric.kind == "numeric":
        return metric.number_of(text)
    if metric.kind == "ranking":
        with contextlib.suppress(ValueError):
            return parse_json(text)
        return [int(piece) if piece.isdecimal() else piece for piece in text.split(";")]
    if isinstance(metric.allowed_values, list):
        return next((value for value in metric.allowed_values if str(value) == text), text)
    return text


def _whole(text: str) -> int | None:
    return int(text) if text else None


def _number(text: str) -> float | None:
    return float(text) if text else None


PYTHON_COLUMNS: Final = ("error", "model", "repeat", "row_number", "row_hash", "experiment_name")
"""The columns that follow those returned by the function."""


def write_python_table(path: Path, run: UnfinishedRun, experiment: str) -> None:
    """Write the table of the run atomically; raises OSError.

    The columns are those of all rows in the order in which they first appear, then `PYTHON_COLUMNS`. The
    results are read twice, one at a time.
    """
    columns = dict.fromkeys(name for result in run.results() for name in result.values)
    header = list(dict.fromkeys([*(name for name in columns if name not in PYTHON_COLUMNS), *PYTHON_COLUMNS]))
    with replace_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\r\n")
        writer.writerow(header)
        for result in run.results():
            cells = python_cells(result, experiment)
            writer.writerow([cells.get(column, "") for column in header])


def python_cells(result: RowResult, experiment: str) -> dict[str, str]:
    """Return the result's cells in the table."""
    cells = {
        **result.values,
        "error": result.error,
        "model": result.model,
        "repeat": result.repeat,
        "row_number": result.number,
        "row_hash": result.digest,
        "experiment_name": result.values.get("experiment_name") or experiment,
    }
    return {name: text_cell(value) for name, value in cells.items()}


def good_rows(run: RunSummary) -> Iterator[RowResult]:
    """Yield the results of a run that did not fail; all values except scores are text."""
    for cells in row_results(run):
        if cells["error"] or not cells["row_number"].isdecimal():
            continue
        values = {name: value for name, value in cells.items() if name not in PYTHON_COLUMNS[:-1]}
        scores = {metric.name: _score(cells, metric) for metric in run.metrics if cells.get(metric.name)}
        number = int(cells["row_number"])
        yield RowResult(
            cells.get("id") or str(number),
            number,
            number - 1,
            cells["model"],
            int(cells["repeat"]) if cells.get("repeat", "").isdecimal() else 1,
            values,
            scores=scores,
            digest=cells.get("row_hash") or "",
            cached=True,
        )
