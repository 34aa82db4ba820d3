"""The table of a run: a CSV file with a line for each result, in the dataset's order."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptls.datasets.atomic import replaced
from promptls.experiments.plan import Plan
from promptls.experiments.row_result import RowResult
from promptls.experiments.unfinished import UnfinishedRun

REASON_SUFFIX = "_reason"
PREDICTED_PREFIX = "predicted_"
JUDGING_COLUMNS = ("judge_calls", "judge_tokens", "judge_cost")


def write_table(path: Path, plan: Plan, run: UnfinishedRun) -> None:
    """Write the table of the run atomically; raises OSError.

    The columns: those of the dataset, `response`, `predicted_<key>` for each key of the JSON
    schema, each metric and its `_reason`, `error`, `problem` (what is wrong with the answer's form),
    tokens, seconds, cost, what the row was asked with, and what its judges took. A column of the dataset
    that has one of these names is called `row_<name>`.
    """
    predicted = predicted_keys(plan.experiment.json_schema)
    metrics = [metric.name for metric in plan.metrics]
    own = [*_own_columns(predicted, metrics), *(JUDGING_COLUMNS if plan.asks else ())]
    names = {
        column: f"row_{column}" if column in own and column != "id" else column
        for column in plan.dataset.columns
    }
    header = [*([] if "id" in names else ["id"]), *names.values(), *own]
    with replaced(path) as stream:
        writer = csv.DictWriter(stream, header, lineterminator="\r\n")
        writer.writeheader()
        for result in run.results():
            row = {names[column]: _cell(result.values.get(column)) for column in names}
            judging = _judging_cells(result) if plan.asks else {}
            writer.writerow(
                {"id": result.id, **row, **_own_cells(result, plan.experiment.name, predicted), **judging}
            )


def predicted_keys(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the keys of the answers that `schema` describes."""
    properties = (schema or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _own_columns(predicted: list[str], metrics: list[str]) -> list[str]:
    return [
        "response",
        *(f"{PREDICTED_PREFIX}{key}" for key in predicted),
        *(name for metric in metrics for name in (metric, f"{metric}{REASON_SUFFIX}")),
        "error",
        "problem",
        "input_tokens",
        "output_tokens",
        "seconds",
        "cost",
        "cached",
        "finish_reason",
        "model",
        "repeat",
        "row_number",
        "rendered_hash",
        "experiment_name",
    ]


def plain_cells(
    result: RowResult, experiment: str, schema: Mapping[str, Any] | None, metrics: list[str]
) -> dict[str, str]:
    """Return the result as the table will have it, without what its judges took."""
    predicted = predicted_keys(schema)
    own = _own_columns(predicted, metrics)
    values = {
        f"row_{column}" if column in own and column != "id" else column: _cell(value)
        for column, value in result.values.items()
    }
    return {"id": result.id, **values, **_own_cells(result, experiment, predicted)}


def _own_cells(result: RowResult, experiment: str, predicted: list[str]) -> dict[str, str]:
    answer = _answer(result.response)
    cells: dict[str, Any] = {
        "response": result.response,
        "error": result.error,
        "problem": result.problem,
        "cached": "yes" if result.cached else None,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
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
    return {name: _cell(value) for name, value in cells.items()}


def _judging_cells(result: RowResult) -> dict[str, str]:
    taken = result.judging or {}
    return {name: _cell(taken.get(name.removeprefix("judge_"))) for name in JUDGING_COLUMNS}


def _answer(response: str | None) -> dict[str, Any]:
    try:
        value = json.loads(response or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _cell(value: Any) -> str:
    """Return a value as text: lists of plain values are joined with `;`, as datasets write them."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ";".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)
