"""Running jobs: results are stored as they arrive, and published as a table and a manifest at the end."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.experiments.budget import Budget, BudgetSpentError, Spending
from promptls.experiments.manifest import ended_manifest, write_manifest
from promptls.experiments.pipeline import Outcome, Progress, Task, work_through
from promptls.experiments.run_protocol import Event, Finished, RowFinished, Started, Stopped
from promptls.experiments.scores import RowResult, Totals, described_metric
from promptls.experiments.store import sync_periodically
from promptls.experiments.unfinished import UnfinishedRun, UnwrittenError, create_run
from promptls.metrics.metric import Metric
from promptls.models.model import ModelError
from promptls.text.errors import FilePlace, UserError

_HOPELESS: Final = 5
"""Number of initial results after which a run is aborted if all fail for the same, row-independent reason."""
_GONE: Final = 50
"""Number of consecutive results without an answer after which the provider is considered unavailable."""


@dataclass(frozen=True, slots=True)
class RowOutcome(Outcome):
    """The result of a row.

    `failure` is the model's error, if that is why there is no answer; `judge_failure` is a judge's error, if
    none of the response's judges answered; `judged` is set if one did.
    """

    result: RowResult
    failure: ModelError | None = None
    judge_failure: ModelError | None = None
    judged: bool = False


class Tasks(NamedTuple):
    """The tasks of a run, and how many of them run concurrently."""

    tasks: Iterator[Task[RowOutcome]]
    at_once: int


class Job(ABC):
    """The row-specific part of a kind of run. Nothing is executed before `run_job`."""

    folder: Path
    stem: str
    """The stem of the run's name."""
    results: int
    """The expected number of results."""
    budget: Budget
    metrics: Sequence[Metric]
    resumed: UnfinishedRun | None = None
    """The run that is resumed."""
    carried: Iterable[RowResult] = ()
    """Results that are copied from another run."""
    noun: str = "results"

    @abstractmethod
    def header(self, started: datetime) -> Mapping[str, Any]:
        """Return the manifest's content before the first row."""

    @abstractmethod
    def tasks(self, run: UnfinishedRun) -> AbstractAsyncContextManager[Tasks]:
        """Open the required resources, and yield the tasks whose results the run lacks."""

    @abstractmethod
    def write_table(self, path: Path, run: UnfinishedRun) -> None:
        """Write the table atomically; raises OSError."""

    @abstractmethod
    def totals(self, run: UnfinishedRun) -> Totals:
        """Return the totals of all results."""

    @abstractmethod
    def check(self, outcome: RowOutcome) -> None:
        """Raise UserError if the run cannot continue after this outcome, which has been stored."""


async def run_job(job: Job, on_event: Callable[[Event], None], now: datetime | None = None) -> Finished:
    """Perform all tasks, and write table and manifest.

    A failed row is a result with an `error`. A cancelled run stops immediately, reports `Stopped` and can be
    resumed. Raises `BudgetSpentError` if the budget is exhausted, and `UserError` if nothing can be written
    or if a model answers no row at all: finished rows are stored in that case too, and the error says how to
    resume.
    """
    # Names contain the local time, as in the Ragas documentation.
    started = (now or datetime.now(timezone.utc)).astimezone()
    run = job.resumed or create_run(job.folder, job.stem, started, job.header(started))
    try:
        finished = await _finished(job, run, on_event)
    except (asyncio.CancelledError, BudgetSpentError) as end:
        why = {} if isinstance(end, asyncio.CancelledError) else {"why": end.message}
        on_event(Stopped(run.count, job.results, str(run.path), **why))
        raise
    except UnwrittenError:
        raise
    except UserError:
        if not run.count and not run.calls_in_flight:
            run.remove()
        raise
    except (OSError, sqlite3.Error) as error:
        raise run.unwritten(error) from error
    finally:
        run.close()
    on_event(finished)
    return finished


async def _finished(job: Job, run: UnfinishedRun, on_event: Callable[[Event], None]) -> Finished:
    if job.resumed is not None:
        run.forget_failed()
    for result in job.carried:
        run.append(result)
    metrics = [described_metric(metric) for metric in job.metrics]
    on_event(Started(run.name, job.results, str(run.path), run.count, metrics))
    spending = Spending(job.budget)
    async with job.tasks(run) as (tasks, at_once):
        concurrency = min(at_once, job.results)
        keeper = _Keeper(job, run, on_event, concurrency)
        async with sync_periodically(run.store):
            await work_through(tasks, concurrency, keeper.keep, spending)
    if spending.reached is not None:
        raise BudgetSpentError(
            f"the budget of {spending.reached} is spent after {run.count} of {job.results} {job.noun}",
            FilePlace(run.path),
            f"continue with a larger one: `promptls run --resume {run.name} --max-calls …`, "
            "`--max-tokens …` or `--max-cost …`",
        )
    table = run.path.with_name(f"{run.name}.csv")
    manifest = run.path.with_name(f"{run.name}.json")
    _remove_leftovers(table, manifest)
    job.write_table(table, run)
    ended = ended_manifest(run.header, job.totals(run).summary())
    write_manifest(manifest, ended)
    run.remove()
    return Finished(str(table), str(manifest), ended)


def _remove_leftovers(*paths: Path) -> None:
    """Remove partially written files that an earlier, killed process of this run has left."""
    for path in paths:
        for left in path.parent.glob(f".{path.name}-*"):
            with contextlib.suppress(OSError):
                left.unlink()


class _Keeper:
    """Stores and reports outcomes; aborts a run whose models do not answer."""

    def __init__(
        self, job: Job, run: UnfinishedRun, on_event: Callable[[Event], None], concurrency: int
    ) -> None:
        self._job = job
        self._run = run
        self._on_event = on_event
        self._gone = max(_GONE, 2 * concurrency)
        self._progress = Progress()
        self._answered = False
        self._done = 0
        self._unanswered = 0
        self._judged = False
        self._unjudged = 0

    def keep(self, outcome: RowOutcome) -> None:
        result = outcome.result
        self._run.append(result)
        self._done += 1
        self._on_event(
            self._progress.timed(
                RowFinished(
                    result.id,
                    result.error,
                    {name: score.value for name, score in result.scores.items()},
                    self._run.count,
                    max(self._job.results, self._run.count),
                )
            )
        )
        self._job.check(outcome)
        self._check_models(outcome)
        self._check_judges(outcome)

    def _check_models(self, outcome: RowOutcome) -> None:
        failure = outcome.failure
        self._answered = self._answered or outcome.result.error is None or failure is None
        self._unanswered = 0 if failure is None else self._unanswered + 1
        if failure is None:
            return
        total = self._job.results
        if not self._answered and self._done >= min(_HOPELESS, total):
            raise self._hopeless(f"the model answered none of the first {self._done} rows", failure)
        if self._unanswered >= self._gone and self._run.count < total:
            raise self._hopeless(f"the model has answered none of the last {self._unanswered} rows", failure)

    def _check_judges(self, outcome: RowOutcome) -> None:
        self._judged = self._judged or outcome.judged
        if outcome.judge_failure is None:
            return
        self._unjudged += 1
        if not self._judged and self._unjudged >= min(_HOPELESS, self._job.results):
            message = f"the model that judges answered for none of the first {self._unjudged} responses"
            raise self._hopeless(message, outcome.judge_failure)

    def _hopeless(self, message: str, failure: ModelError) -> UserError:
        remedy = f"{failure.remedy}; " if failure.remedy else ""
        return UserError(
            f"{message}: {failure.message}",
            FilePlace(self._run.path),
            f"{remedy}then continue with `promptls run --resume {self._run.name}`",
        )
