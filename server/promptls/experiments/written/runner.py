"""Running a written experiment on a prompt: with the events, journal and files of other runs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

from promptls.datasets.backends.cells import flat_row, is_score, json_line
from promptls.experiments.at_once import BudgetSpentError, check_spending, done_at_once
from promptls.experiments.budget import Expected, Spending
from promptls.experiments.disk_sync import synced
from promptls.experiments.events import Event, Finished, RowFinished, Started, Stopped
from promptls.experiments.journal import Journal, create_journal
from promptls.experiments.manifest import ended_manifest, write_manifest
from promptls.experiments.results_folder import prompt_stem, results_folder
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.tally import Totals, described_metric
from promptls.experiments.under_way import LEFT_ERROR
from promptls.experiments.written.decorator import DEFAULT_CONCURRENCY
from promptls.experiments.written.manifest import written_manifest
from promptls.experiments.written.prepare import PreparedWritten
from promptls.experiments.written.row_caller import RowCall, row_caller
from promptls.experiments.written.row_function import RowOutcome, failed_row
from promptls.experiments.written.rows import NumberedRow
from promptls.experiments.written.table import good_rows, write_written_table
from promptls.metrics.metric import Metric
from promptls.models.keys import key_mask
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.workspace.project_settings import find_project


async def run_written(prepared: PreparedWritten, on_event: Callable[[Event], None]) -> Finished:
    """Call the function with each row, and write table and manifest beside those of the prompt's other runs.

    A cancelled run tells `Stopped` and keeps its finished rows in its journal, with which it can be gone on.
    Raises `BudgetSpentError` when the budget is spent, and Failure where the data set cannot be read on or
    nothing can be written.
    """
    started = datetime.now(timezone.utc).astimezone()
    plan = prepared.plan
    begun = prepared.header or written_manifest(prepared, started)
    journal = prepared.journal or create_journal(
        results_folder(plan.prompt), prompt_stem(plan.prompt), started
    )
    run = _Run(prepared, journal, on_event)
    try:
        finished = await run.to_its_end(begun)
    except asyncio.CancelledError:
        on_event(Stopped(journal.count, prepared.results, str(journal.path)))
        raise
    except BudgetSpentError as spent:
        on_event(Stopped(journal.count, prepared.results, str(journal.path), spent.message))
        raise
    except Failure:
        if not journal.count:
            journal.remove()
        raise
    except OSError as error:
        raise Failure(
            f"the results cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(error.filename or journal.path),
            f"free some space and go on with `promptls run --resume {journal.name}`",
        ) from error
    finally:
        journal.close()
    on_event(finished)
    return finished


class _Run:
    """The calls that are going on, and what they came to so far."""

    def __init__(
        self, prepared: PreparedWritten, journal: Journal, on_event: Callable[[Event], None]
    ) -> None:
        self._prepared = prepared
        self._plan = prepared.plan
        self._request = prepared.request
        self._journal = journal
        self._on_event = on_event
        self._began = time.perf_counter()
        self._done = 0
        self._spending = Spending(prepared.budget)
        models = find_project(prepared.plan.prompt).settings.models.values()
        self._mask = key_mask(variables=[model.api_key_env for model in models if model.api_key_env])
        self._left = {(call.number, call.repeat) for call in prepared.left}

    async def to_its_end(self, begun: dict[str, Any]) -> Finished:
        """The table and the manifest are written, and the journal is gone."""
        plan, journal = self._plan, self._journal
        self._begin(begun)
        results, metrics = self._prepared.results, map(described_metric, plan.metrics.values())
        self._on_event(Started(journal.name, results, 0, 0, str(journal.path), journal.count, list(metrics)))
        await self._call_all()
        table = journal.path.with_name(f"{journal.name}.csv")
        write_written_table(table, journal, plan.experiment.name)
        manifest = ended_manifest(begun, self._totals().summary())
        write_manifest(table.with_suffix(".json"), manifest)
        journal.remove()
        return Finished(str(table), str(table.with_suffix(".json")), manifest)

    def _begin(self, begun: dict[str, Any]) -> None:
        if self._prepared.header is not None:
            self._journal.forget_failed()
            return
        begun["run"] = self._journal.name
        self._journal.describe(begun, [self._plan.asked_model], self._plan.repeats)
        if self._prepared.retried is not None:
            for result in good_rows(self._prepared.retried):
                self._journal.append(result)

    async def _call_all(self) -> None:
        plan, request = self._plan, self._request
        due = (
            (row, repeat)
            for row in plan.rows
            for repeat in range(1, plan.repeats + 1)
            if self._prepared.is_due(row, repeat)
        )
        most = min(request.concurrency or DEFAULT_CONCURRENCY, self._prepared.results)
        async with row_caller(plan, request.timeout, most) as caller, synced(self._journal.sync):
            at_once = request.concurrency or caller.at_once
            await done_at_once(lambda: self._work(due, caller.call), at_once)
        what = "rows" if plan.repeats == 1 else "results"
        check_spending(self._spending, self._journal, self._prepared.results, what)

    async def _work(self, due: Iterator[tuple[NumberedRow, int]], call: RowCall) -> None:
        for row, repeat in due:
            if (row.number, repeat) in self._left:
                result = self._result(row, repeat, failed_row(row.row, LEFT_ERROR))
                self._journal.append(result)
                self._tell(result)
                continue
            expected = Expected()
            if not self._spending.allows(expected):
                return
            model = self._plan.asked_model
            self._journal.note_call(row.number, model, repeat, model, None)
            outcome = await call(row.row, repeat)
            result = self._result(row, repeat, outcome)
            self._journal.append(result)
            self._settle(expected, result)
            self._tell(result)

    def _settle(self, expected: Expected, result: RowResult) -> None:
        budget = self._prepared.budget
        tokens = (result.input_tokens or 0) + (result.output_tokens or 0)
        self._spending.settle(expected, calls=1, tokens=tokens, cost=result.cost or 0.0)
        held = (
            ("--max-cost", budget.cost, "cost", result.cost),
            ("--max-tokens", budget.tokens, "input_tokens", result.input_tokens),
        )
        for option, limit, column, value in held:
            if limit is not None and value is None and result.error is None:
                raise WrongUse(
                    f"`{option}` cannot be held: the experiment `{self._plan.experiment.name}` gives no "
                    f"number `{column}`",
                    FilePlace(self._plan.experiment.file, self._plan.experiment.line),
                    f"put `{column}` into what the function returns, or limit its calls: `--max-calls`",
                )

    def _tell(self, result: RowResult) -> None:
        self._done += 1
        seconds = time.perf_counter() - self._began
        rate = self._done / max(seconds, 1e-9)
        total = max(self._prepared.results, self._journal.count)
        scores = {name: score.value for name, score in result.scores.items()}
        left = (total - self._journal.count) / rate
        self._on_event(
            RowFinished(
                result.id,
                result.model,
                result.error,
                scores,
                self._journal.count,
                total,
                seconds,
                left,
                rate,
            )
        )

    def _result(self, row: NumberedRow, repeat: int, outcome: RowOutcome) -> RowResult:
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
            self._plan.asked_model,
            repeat,
            values,
            scores=scores,
            error=None if outcome.error is None else self._mask.mask(outcome.error),
            input_tokens=_whole(values.get("input_tokens")),
            output_tokens=_whole(values.get("output_tokens")),
            cost=_number(values.get("cost")),
            digest=row.digest,
        )

    def _totals(self) -> Totals:
        """What all rows come to; of scores without a metric in the file, their values tell the kind."""
        metrics = dict(self._plan.metrics)
        for result in self._journal.results():
            for name, score in result.scores.items():
                if name not in metrics and score.value is not None:
                    metrics[name] = _metric_of(name, score.value)
        totals = Totals(list(metrics.values()), [self._plan.asked_model])
        for result in self._journal.results():
            totals.add(result)
        return totals


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
