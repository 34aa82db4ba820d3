"""Running a code-defined experiment on a prompt: its function is called with every row."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from promptls.datasets.cells import flat_row, is_score, json_line
from promptls.datasets.files import Row
from promptls.experiments.budget import Expected
from promptls.experiments.events import Event, Finished
from promptls.experiments.job import Job, RowOutcome, Tasks, run_job
from promptls.experiments.pipeline import Task
from promptls.experiments.python.decorator import DEFAULT_CONCURRENCY
from promptls.experiments.python.manifest import python_manifest
from promptls.experiments.python.prepare import PreparedPython
from promptls.experiments.python.row_caller import RowCall, row_caller
from promptls.experiments.python.row_function import FunctionOutcome, failed_row
from promptls.experiments.python.rows import digest_of_row
from promptls.experiments.python.table import good_rows, write_python_table
from promptls.experiments.results_folder import prompt_stem, results_folder
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.tally import Totals
from promptls.experiments.under_way import LEFT_ERROR
from promptls.experiments.unfinished import UnfinishedRun
from promptls.metrics.metric import Metric
from promptls.models.keys import key_mask
from promptls.text.errors import FilePlace, UsageError
from promptls.workspace.settings import find_project


async def run_python(prepared: PreparedPython, on_event: Callable[[Event], None]) -> Finished:
    """Call the function with each row, and write table and manifest beside those of the prompt's other runs.

    Raises as `run_job`, and UserError if the dataset cannot be read to its end.
    """
    return await run_job(FunctionJob(prepared), on_event)


class FunctionJob(Job):
    """The run of a function."""

    def __init__(self, prepared: PreparedPython) -> None:
        plan = prepared.plan
        self._prepared = prepared
        self._plan = plan
        self._left = {(call.number, call.repeat) for call in prepared.left}
        models = find_project(plan.prompt).settings.models.values()
        self._mask = key_mask(variables=[model.api_key_env for model in models if model.api_key_env])
        self.folder = results_folder(plan.prompt)
        self.stem = prompt_stem(plan.prompt)
        self.results = prepared.results
        self.budget = prepared.budget
        self.metrics = list(plan.metrics.values())
        self.resumed = prepared.resumed
        self.carried = good_rows(prepared.retried) if prepared.retried is not None else ()
        self.noun = "rows" if plan.repeats == 1 else "results"

    def header(self, started: datetime) -> Mapping[str, Any]:
        """As in Job."""
        return python_manifest(self._prepared, started)

    @asynccontextmanager
    async def tasks(self, run: UnfinishedRun) -> AsyncIterator[Tasks]:
        """As in Job."""
        request = self._prepared.request
        most = min(request.concurrency or DEFAULT_CONCURRENCY, self.results)
        async with row_caller(self._plan, request.timeout, most) as caller:
            yield Tasks(self._tasks(run, caller.call), request.concurrency or caller.at_once)

    def write_table(self, path: Path, run: UnfinishedRun) -> None:
        """As in Job."""
        write_python_table(path, run, self._plan.experiment.name)

    def totals(self, run: UnfinishedRun) -> Totals:
        """As in Job; the values of scores without a metric in the file determine its kind."""
        metrics = dict(self._plan.metrics)
        for result in run.results():
            for name, score in result.scores.items():
                if name not in metrics and score.value is not None:
                    metrics[name] = _metric_of(name, score.value)
        totals = Totals(list(metrics.values()), [self._plan.model_name])
        for result in run.results():
            totals.add(result)
        return totals

    def check(self, outcome: RowOutcome) -> None:
        """As in Job: without numbers, a budget cannot be held."""
        result = outcome.result
        limits = (
            ("--max-cost", self.budget.cost, "cost", result.cost),
            ("--max-tokens", self.budget.tokens, "input_tokens", result.input_tokens),
        )
        for option, limit, column, value in limits:
            if limit is not None and value is None and result.error is None:
                raise UsageError(
                    f"`{option}` cannot be held: the experiment `{self._plan.experiment.name}` gives no "
                    f"number `{column}`",
                    FilePlace(self._plan.experiment.file, self._plan.experiment.line),
                    f"put `{column}` into what the function returns, or limit its calls: `--max-calls`",
                )

    def _tasks(self, run: UnfinishedRun, call: RowCall) -> Iterator[Task[RowOutcome]]:
        for row in self._plan.rows:
            for repeat in range(1, self._plan.repeats + 1):
                if not self._prepared.is_due(row, repeat):
                    continue
                if (row.number, repeat) in self._left:
                    yield Task(partial(self._left_out, row, repeat))
                else:
                    yield Task(partial(self._call, run, call, row, repeat), Expected)

    async def _left_out(self, row: Row, repeat: int) -> RowOutcome:
        return RowOutcome(self._result(row, repeat, failed_row(row.item, LEFT_ERROR)))

    async def _call(self, run: UnfinishedRun, call: RowCall, row: Row, repeat: int) -> RowOutcome:
        model = self._plan.model_name
        run.note_call(row.number, model, repeat, model, None)
        result = self._result(row, repeat, await call(row.item, repeat))
        tokens = (result.input_tokens or 0) + (result.output_tokens or 0)
        return RowOutcome(result, calls=1, tokens=tokens, cost=result.cost or 0.0)

    def _result(self, row: Row, repeat: int, outcome: FunctionOutcome) -> RowResult:
        given = outcome.result
        columns = given if isinstance(given, dict) else dict(given.model_dump())
        # What a file can hold of it: a run that is gone on with reads it back from there.
        values: dict[str, Any] = self._mask.mask_all(json.loads(json_line(flat_row(columns))))
        scores = {
            name: Score(values[name], values.get(f"{name}_reason"))
            for name in map(str, columns)
            if name in self._plan.metrics or is_score(columns.get(name))
        }
        identity = values.get("id")
        is_named = isinstance(identity, str | int | float) and identity != ""
        return RowResult(
            str(identity if is_named else row.number),
            row.number,
            row.number - 1,
            self._plan.model_name,
            repeat,
            values,
            scores=scores,
            error=None if outcome.error is None else self._mask.mask(outcome.error),
            input_tokens=_whole(values.get("input_tokens")),
            output_tokens=_whole(values.get("output_tokens")),
            cost=_number(values.get("cost")),
            digest=digest_of_row(row),
        )


def _metric_of(name: str, value: Any) -> Metric:
    if isinstance(value, list):
        return Metric(name, "ranking", None, list)
    if isinstance(value, int | float):
        return Metric(name, "numeric", None, float)
    return Metric(name, "discrete", None, str)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
