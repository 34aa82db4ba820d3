"""Running a plan: rows at once, each result on disk as soon as it is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

from promptls.datasets.dataset import Row
from promptls.experiments.ask import Asker, opened_models
from promptls.experiments.definition import prompt_stem
from promptls.experiments.events import Event, Finished, RowFinished, Started, Stopped
from promptls.experiments.journal import Journal, create_journal
from promptls.experiments.manifest import begun_manifest, ended_manifest, write_manifest
from promptls.experiments.plan import Plan
from promptls.experiments.results_table import write_table
from promptls.experiments.row_rendering import RowRenderer
from promptls.experiments.row_result import RowResult
from promptls.experiments.tally import Totals
from promptls.models.model import ModelError
from promptls.models.registry import ModelReference
from promptls.text.failure import Failure, FilePlace

# A run whose first results all fail for the same reason, which is not the rows', is not worth going on.
HOPELESS = 5

Asking = tuple[Row, ModelReference, int]


async def run_plan(
    plan: Plan,
    on_event: Callable[[Event], None],
    *,
    renderer: RowRenderer | None = None,
    now: datetime | None = None,
) -> Finished:
    """Asks every model about every row, scores the responses, and writes table and manifest.

    An open `renderer` of the experiment is used where there is one.

    A row that fails is a result with an `error`. A cancelled run ends at once, tells `Stopped` and
    keeps its journal. Raises `Failure` when nothing can be written, or when the model answers no
    row at all: finished rows are kept then too, and the failure says where.
    """
    # Names carry the user's own time, as in the Ragas documents.
    started = (now or datetime.now(timezone.utc)).astimezone()
    journal = create_journal(plan.experiment.folder, prompt_stem(plan.experiment.prompt), started)
    run = _Run(plan, journal, on_event)
    try:
        manifest = begun_manifest(plan, journal.name, started)
        journal.describe(manifest)
        on_event(Started(journal.name, plan.results, len(plan.failing), plan.input_tokens, str(journal.path)))
        await run.ask_all(renderer)
        table = journal.path.with_name(f"{journal.name}.csv")
        write_table(table, plan, journal)
        ended = ended_manifest(manifest, run.totals.summary())
        write_manifest(table.with_suffix(".json"), ended)
    except asyncio.CancelledError:
        on_event(Stopped(journal.count, plan.results, str(journal.path)))
        raise
    except OSError as error:
        raise _unwritten(journal, error) from None
    finally:
        journal.close()
    journal.remove()
    event = Finished(str(table), str(table.with_suffix(".json")), ended)
    on_event(event)
    return event


def _unwritten(journal: Journal, error: OSError) -> Failure:
    return Failure(
        f"the results cannot be written: {(error.strerror or str(error)).lower()}",
        FilePlace(error.filename or journal.path),
        f"free some space and run again; the {journal.count} finished rows are in {journal.path}",
    )


class _Run:
    """The askings that are going on, and what they came to so far."""

    def __init__(self, plan: Plan, journal: Journal, on_event: Callable[[Event], None]) -> None:
        self._plan = plan
        self._journal = journal
        self._on_event = on_event
        self._began = time.perf_counter()
        self.totals = Totals(plan.metrics, [model.name for model in plan.experiment.models])
        self._answered = False

    async def ask_all(self, renderer: RowRenderer | None) -> None:
        """Every result is in the journal."""
        async with opened_models(self._plan, renderer) as asker:
            askings = self._askings()
            at_once = min(self._plan.experiment.concurrency, self._plan.results)
            workers = [asyncio.create_task(self._work(askings, asker)) for _ in range(at_once)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    def _askings(self) -> Iterator[Asking]:
        experiment = self._plan.experiment
        for row in self._plan.rows():
            for model in experiment.models:
                for repeat in range(1, experiment.repeats + 1):
                    yield row, model, repeat

    async def _work(self, askings: Iterator[Asking], asker: Asker) -> None:
        for row, model, repeat in askings:
            result, failure = await asker.ask(row, model, repeat)
            self._keep(result, failure)

    def _keep(self, result: RowResult, failure: ModelError | None) -> None:
        self._journal.append(result)
        self.totals.add(result)
        self._answered = self._answered or result.error is None or failure is None
        done, total = self._journal.count, self._plan.results
        seconds = time.perf_counter() - self._began
        self._on_event(
            RowFinished(
                result.id,
                result.model,
                result.error,
                {name: score.value for name, score in result.scores.items()},
                done,
                total,
                seconds,
                seconds / done * (total - done),
            )
        )
        if failure is not None and not self._answered and done >= min(HOPELESS, total):
            raise Failure(
                f"the model answered none of the first {done} rows: {failure.message}",
                FilePlace(self._journal.path),
                failure.remedy,
            )
