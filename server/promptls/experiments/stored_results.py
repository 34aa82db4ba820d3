"""Results read back out of a run's table, with the types that they had."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from promptls.datasets.files import Row
from promptls.experiments.history import MetricSummary, RunSummary, row_results
from promptls.experiments.plan import Plan
from promptls.experiments.results_table import REASON_SUFFIX
from promptls.experiments.row_result import RowResult, Score


def good_results(run: RunSummary, plan: Plan, again: Collection[str] = ()) -> Iterator[RowResult]:
    """Yield the results of `run` without an error that a run of `plan` would come to again.

    Scores that are not there, and those of the metrics `again`, are the result's `unscored` ones.
    Those whose row renders otherwise by now, or that the plan does not ask for, are left out.
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
        seconds=_number(cells["seconds"]),
        cost=_number(cells["cost"]),
        finish_reason=cells["finish_reason"] or None,
        digest=cells["rendered_hash"],
        problem=cells.get("problem") or None,
        # Whoever made the answer, this run did not pay for it.
        cached=True,
    )


def _score(cells: Mapping[str, str], metric: MetricSummary) -> Score:
    text = cells[metric.name]
    reason = cells.get(f"{metric.name}{REASON_SUFFIX}") or None
    return Score(score_value(text, metric), reason)


def score_value(text: str, metric: MetricSummary) -> Any:
    """Return the value of a score that the table has as `text`; None if there was none."""
    if not text:
        return None
    if metric.kind == "numeric":
        return float(text)
    if metric.kind == "ranking":
        with contextlib.suppress(ValueError):
            return json.loads(text)
        return [int(piece) if piece.isdigit() else piece for piece in text.split(";")]
    if isinstance(metric.allowed_values, list):
        return next((value for value in metric.allowed_values if str(value) == text), text)
    return text


def _whole(text: str) -> int | None:
    return int(text) if text else None


def _number(text: str) -> float | None:
    return float(text) if text else None
