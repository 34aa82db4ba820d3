"""Running a code-defined experiment on a prompt, by calling its function with every row."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from promptls.datasets.cells import flat_row, is_score, json_line
from promptls.datasets.dataset_files import Row
from promptls.experiments.answer_cache import SKIPPED_ERROR
from promptls.experiments.budget import ExpectedUsage
from promptls.experiments.manifest import prompt_stem, results_folder
from promptls.experiments.pipeline import Task
from promptls.experiments.python.functions import (
    DEFAULT_CONCURRENCY,
    FunctionOutcome,
    RowFunction,
    failed_row,
)
from promptls.experiments.python.program import PreparedPython, PythonPlan, digest_of_row, python_manifest
from promptls.experiments.python.program_manifest import metric_of_value
from promptls.experiments.results_table import good_rows, write_python_table
from promptls.experiments.resumable_job import Job, RowOutcome, Tasks, run_job
from promptls.experiments.run_protocol import Event, Finished
from promptls.experiments.scores import RowResult, Score, Totals
from promptls.experiments.unfinished import UnfinishedRun
from promptls.models.masking import key_mask
from promptls.models.model import ModelError
from promptls.models.providers import TABLE
from promptls.models.ray_cluster import RayNodes
from promptls.security.processes import visible_variables
from promptls.text.errors import FilePlace, UsageError
from promptls.workspace.settings import find_project

if TYPE_CHECKING:
    from promptls.experiments.python.ray_function_worker import SentFunction

RowCall: TypeAlias = Callable[[Any, int], Awaitable[FunctionOutcome]]
"""Calls the function with a row and a repeat."""

_MAX_TRIES: Final = 3
"""How often a row is retried on a different node if its node is lost."""

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")


class RowCaller(NamedTuple):
    """Calls the function of a plan; `at_once` is the default number of concurrent calls."""

    call: RowCall
    at_once: int


@asynccontextmanager
async def row_caller(plan: PythonPlan, timeout: float | None, limit: int) -> AsyncIterator[RowCaller]:
    """Yield a caller of the plan's function on the selected engine, for at most `limit` concurrent calls.

    Raises the errors of `RayNodes.connect`, and `ModelError` if a node does not have the experiment's file.
    """
    if plan.engine == "ray":
        async with _on_cluster(plan, timeout, limit) as caller:
            yield caller
        return
    functions = [
        RowFunction(plan.function, (), plan.arguments_of(repeat), plan.model, timeout)
        for repeat in range(1, plan.repeats + 1)
    ]
    yield RowCaller(
        lambda row, repeat: functions[repeat - 1].call(row),
        DEFAULT_CONCURRENCY if plan.is_asynchronous else 1,
    )


@asynccontextmanager
async def _on_cluster(plan: PythonPlan, timeout: float | None, limit: int) -> AsyncIterator[RowCaller]:
    from promptls.experiments.python.ray_function_worker import FunctionWorker

    sent = _sent(plan, timeout)
    environment = _environment(sent.text)
    nodes = RayNodes(FunctionWorker, (sent, environment), limit)
    await nodes.connect(plan.ray_address, environment, from_project=plan.ray_from_project)

    async def call(row: Any, repeat: int) -> FunctionOutcome:
        outcome: FunctionOutcome | ModelError = ModelError("")
        for _ in range(_MAX_TRIES):
            outcome = await _called(nodes, row, repeat)
            if not isinstance(outcome, ModelError):
                return outcome
        return failed_row(row, str(outcome))

    is_ended = False
    try:
        # Synchronous functions are executed once per node at a time.
        yield RowCaller(call, DEFAULT_CONCURRENCY if plan.is_asynchronous else nodes.count)
        is_ended = True
    finally:
        await nodes.close(at_once=not is_ended)


async def _called(nodes: RayNodes, row: Any, repeat: int) -> FunctionOutcome | ModelError:
    """Call the function on a node; return the outcome, or the error if the node was lost."""
    try:
        outcome = await nodes.call("", lambda actor: actor.call.remote(repeat, row))
    except ModelError as error:
        return error
    except TypeError as error:
        return failed_row(row, f"the row cannot be sent to a node: {error}")
    return FunctionOutcome(*outcome)


def _sent(plan: PythonPlan, timeout: float | None) -> SentFunction:
    from promptls.experiments.python.ray_function_worker import SentFunction

    path = Path(plan.experiment.file)
    arguments = [plan.arguments_of(repeat) for repeat in range(1, plan.repeats + 1)]
    return SentFunction(str(path), path.read_bytes(), plan.experiment.name, arguments, timeout)


def _environment(text: bytes) -> dict[str, str]:
    """Return the environment variables that are set and used by providers or the experiment's file."""
    names = set(_VARIABLE.findall(text.decode("utf-8", "replace")))
    for provider in TABLE.values():
        names |= {*provider.key_envs, *([provider.base_url_env] if provider.base_url_env else [])}
    return visible_variables(names)


async def run_python(prepared: PreparedPython, on_event: Callable[[Event], None]) -> Finished:
    """Call the function with each row, and write table and manifest next to those of the prompt's other runs.

    Raises the errors of `run_job`, and UserError if the dataset cannot be read completely.
    """
    return await run_job(FunctionJob(prepared), on_event)


class FunctionJob(Job):
    """A run that calls a function with each row."""

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
        """See `Job`."""
        return python_manifest(self._prepared, started)

    @asynccontextmanager
    async def tasks(self, run: UnfinishedRun) -> AsyncIterator[Tasks]:
        """See `Job`."""
        request = self._prepared.request
        limit = min(request.concurrency or DEFAULT_CONCURRENCY, self.results)
        async with row_caller(self._plan, request.timeout, limit) as caller:
            yield Tasks(self._tasks(run, caller.call), request.concurrency or caller.at_once)

    def write_table(self, path: Path, run: UnfinishedRun) -> None:
        """See `Job`."""
        write_python_table(path, run, self._plan.experiment.name)

    def totals(self, run: UnfinishedRun) -> Totals:
        """Return the totals; scores without a metric in the file get a kind inferred from their values."""
        metrics = dict(self._plan.metrics)
        for result in run.results():
            for name, score in result.scores.items():
                if name not in metrics and score.value is not None:
                    metrics[name] = metric_of_value(name, score.value)
        totals = Totals(list(metrics.values()), [self._plan.model_name])
        for result in run.results():
            totals.add(result)
        return totals

    def check(self, outcome: RowOutcome) -> None:
        """Raise UsageError if the outcome lacks a number that the budget depends on."""
        result = outcome.result
        limits = (
            ("--max-cost", self.budget.cost, "cost", result.cost),
            ("--max-tokens", self.budget.tokens, "input_tokens", result.input_tokens),
        )
        for option, limit, column, value in limits:
            if limit is not None and value is None and result.error is None:
                raise UsageError(
                    f"`{option}` cannot be enforced: the experiment `{self._plan.experiment.name}` returns "
                    f"no number `{column}`",
                    FilePlace(self._plan.experiment.file, self._plan.experiment.line),
                    f"return `{column}` from the function, or limit its calls: `--max-calls`",
                )

    def _tasks(self, run: UnfinishedRun, call: RowCall) -> Iterator[Task[RowOutcome]]:
        for row in self._plan.rows:
            for repeat in range(1, self._plan.repeats + 1):
                if not self._prepared.is_due(row, repeat):
                    continue
                if (row.number, repeat) in self._left:
                    yield Task(partial(self._left_out, row, repeat))
                else:
                    yield Task(partial(self._call, run, call, row, repeat), ExpectedUsage)

    async def _left_out(self, row: Row, repeat: int) -> RowOutcome:
        return RowOutcome(self._result(row, repeat, failed_row(row.item, SKIPPED_ERROR)))

    async def _call(self, run: UnfinishedRun, call: RowCall, row: Row, repeat: int) -> RowOutcome:
        model = self._plan.model_name
        run.note_call(row.number, model, repeat, model, None)
        result = self._result(row, repeat, await call(row.item, repeat))
        tokens = (result.input_tokens or 0) + (result.output_tokens or 0)
        return RowOutcome(result, calls=1, tokens=tokens, cost=result.cost or 0.0)

    def _result(self, row: Row, repeat: int, outcome: FunctionOutcome) -> RowResult:
        result = outcome.result
        columns = result if isinstance(result, dict) else dict(result.model_dump())
        # Converted to JSON values, because a resumed run reads the row back from the store.
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
            cached_input_tokens=_whole(values.get("cached_input_tokens")),
            reasoning_tokens=_whole(values.get("reasoning_tokens")),
            cost=_number(values.get("cost")),
            digest=digest_of_row(row),
        )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
