"""Running a plan: every model is called with every row, and the responses are scored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.dataset_files import Row
from promptls.experiments.answer_cache import CallInFlight
from promptls.experiments.budget import ExpectedUsage
from promptls.experiments.manifest import prompt_stem, started_manifest
from promptls.experiments.pipeline import Task
from promptls.experiments.plan import Plan
from promptls.experiments.results_table import write_table
from promptls.experiments.resumable_job import Job, RowOutcome, Tasks, run_job
from promptls.experiments.row_asking import RowAsker, opened_models
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.run_protocol import Event, Finished
from promptls.experiments.scores import RowResult, Totals
from promptls.experiments.store import sync_periodically
from promptls.experiments.unfinished import UnfinishedRun
from promptls.models.model import ModelReference


class Continued(NamedTuple):
    """The run that is continued: an unfinished run, or good results of a different run.

    `left` are calls that may have been charged when the run was interrupted and are not repeated: their rows
    get an error.
    """

    resumed: UnfinishedRun | None = None
    carried: Iterable[RowResult] = ()
    run: str | None = None
    left: Collection[CallInFlight] = ()


FROM_THE_START = Continued()


async def run_plan(
    plan: Plan,
    on_event: Callable[[Event], None],
    *,
    continued: Continued = FROM_THE_START,
    now: datetime | None = None,
) -> Finished:
    """Call every model with every row, score the responses, and write table and manifest; see `run_job`."""
    return await run_job(PromptJob(plan, continued), on_event, now)


class PromptJob(Job):
    """The run of a plan."""

    def __init__(self, plan: Plan, continued: Continued) -> None:
        self._plan = plan
        self._continues = continued.run
        self._left = frozenset(call[:3] for call in continued.left)
        self.folder = plan.experiment.folder
        self.stem = prompt_stem(plan.experiment.prompt)
        self.results = plan.results
        self.budget = plan.experiment.budget
        self.metrics = plan.metrics
        self.resumed = continued.resumed
        self.carried = continued.carried

    def header(self, started: datetime) -> Mapping[str, Any]:
        """See `Job`."""
        return started_manifest(self._plan, started, self._continues)

    @asynccontextmanager
    async def tasks(self, run: UnfinishedRun) -> AsyncIterator[Tasks]:
        """See `Job`."""
        cache = self._plan.cache
        # Usually the run's own store; runs that are stored elsewhere use the prompt's cached answers too.
        stores = [] if cache is None else cache.stores
        async with opened_models(self._plan, run.note_call) as asker, sync_periodically(*stores):
            yield Tasks(self._tasks(run, asker), self._plan.experiment.concurrency)

    def write_table(self, path: Path, run: UnfinishedRun) -> None:
        """See `Job`."""
        write_table(path, self._plan, run)

    def totals(self, run: UnfinishedRun) -> Totals:
        """See `Job`."""
        totals = Totals(self._plan.metrics, [model.name for model in self._plan.experiment.models])
        for result in run.results():
            totals.add(result)
        return totals

    def check(self, outcome: RowOutcome) -> None:
        """Accept every outcome: any failure of a row is its error."""

    def _tasks(self, run: UnfinishedRun, asker: RowAsker) -> Iterator[Task[RowOutcome]]:
        experiment = self._plan.experiment
        for row, rendered in self._plan.rendered:
            for model in experiment.models:
                for repeat in range(1, experiment.repeats + 1):
                    if not run.has_answer(row.number, model.name, repeat):
                        yield self._task(run, asker, row, rendered, model, repeat)

    def _task(
        self,
        run: UnfinishedRun,
        asker: RowAsker,
        row: Row,
        rendered: RenderedRow,
        model: ModelReference,
        repeat: int,
    ) -> Task[RowOutcome]:
        if (row.number, model.name, repeat) in self._left:
            return Task(partial(asker.left, row, rendered, model, repeat))
        prior = run.unscored(row.number, model.name, repeat)
        if prior is not None:
            return Task(partial(asker.score_again, row, prior), asker.expected_again)

        def expected() -> ExpectedUsage | None:
            if asker.is_there(rendered, model, repeat):
                return None
            return asker.expected(rendered, model, repeat)

        return Task(partial(asker.ask, row, rendered, model, repeat), expected)
