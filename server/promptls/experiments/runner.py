"""Running a plan: rows at once, each result on disk as soon as it is there."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.dataset import Row
from promptls.experiments.ask import Asked, Asker
from promptls.experiments.at_once import BudgetSpentError, check_spending, done_at_once
from promptls.experiments.budget import Expected, Spending
from promptls.experiments.disk_sync import synced
from promptls.experiments.events import Event, Finished, RowFinished, Started, Stopped
from promptls.experiments.journal import Journal, create_journal
from promptls.experiments.manifest import begun_manifest, ended_manifest, write_manifest
from promptls.experiments.open_models import opened_models
from promptls.experiments.plan import Plan
from promptls.experiments.results_folder import prompt_stem
from promptls.experiments.results_table import write_table
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.row_result import RowResult
from promptls.experiments.tally import Totals, described_metric
from promptls.experiments.under_way import CallUnderWay
from promptls.models.model import ModelError
from promptls.models.reference import ModelReference
from promptls.text.failure import Failure, FilePlace

# A run whose first results all fail for the same reason, which is not the rows', is not worth going on.
HOPELESS = 5

# So many results in a row without any answer, after there have been some, mean that the provider is gone.
GONE = 50

# Finished rows that the rate is taken from.
LATELY = 100


class Asking(NamedTuple):
    """One row that one model is asked about, for the first or a further time.

    `prior` is the result of an earlier asking, which only lacks some of its scores; one that `is_left` gets
    an error and no call.
    """

    row: Row
    rendered: RenderedRow
    model: ModelReference
    repeat: int
    prior: RowResult | None = None
    is_left: bool = False


class Continued(NamedTuple):
    """What a run goes on from: an open journal with its header, or good results of another run.

    `left` are calls that may have been paid for when the run broke off, and are not made again: their rows
    get an error.
    """

    journal: Journal | None = None
    header: dict[str, Any] | None = None
    carried: Iterable[RowResult] = ()
    run: str | None = None
    left: Collection[CallUnderWay] = ()


FROM_THE_START = Continued()


async def run_plan(
    plan: Plan,
    on_event: Callable[[Event], None],
    *,
    continued: Continued = FROM_THE_START,
    now: datetime | None = None,
) -> Finished:
    """Asks every model about every row, scores the responses, and writes table and manifest.

    A row that fails is a result with an `error`. A cancelled run ends at once, tells `Stopped` and
    keeps its journal. Raises `BudgetSpentError` when the budget is spent, and `Failure` when nothing can be
    written, or when the model answers no row at all: finished rows are kept then too, and the failure says
    where.
    """
    # Names carry the user's own time, as in the Ragas documents.
    started = (now or datetime.now(timezone.utc)).astimezone()
    # Known before the journal is made, so that a kill hardly ever finds a journal that says nothing.
    begun = continued.header or begun_manifest(plan, started, continued.run)
    journal = continued.journal or create_journal(
        plan.experiment.folder, prompt_stem(plan.experiment.prompt), started
    )
    run = _Run(plan, journal, on_event)
    try:
        table, manifest = await run.to_its_end(continued, begun)
    except BaseException:
        journal.close()
        raise
    journal.remove()
    event = Finished(str(table), str(table.with_suffix(".json")), manifest)
    on_event(event)
    return event


def _remove_leftovers(table: Path) -> None:
    """What a former end of this run, cut short by a kill, has left half written is gone."""
    for path in (table, table.with_suffix(".json")):
        for left in path.parent.glob(f".{path.name}-*"):
            with contextlib.suppress(OSError):
                left.unlink()


def _unwritten(journal: Journal, error: OSError) -> Failure:
    return Failure(
        f"the results cannot be written: {(error.strerror or str(error)).lower()}",
        FilePlace(error.filename or journal.path),
        f"free some space and go on with `promptls run --resume {journal.name}`; "
        f"the {journal.count} finished rows are in {journal.path}",
    )


class _Run:
    """The askings that are going on, and what they came to so far."""

    def __init__(self, plan: Plan, journal: Journal, on_event: Callable[[Event], None]) -> None:
        self._plan = plan
        self._journal = journal
        self._on_event = on_event
        self._began = time.perf_counter()
        self._ends: deque[float] = deque([self._began], LATELY)
        self._spending = Spending(plan.experiment.budget)
        self._answered = False
        self._done = 0
        self._unanswered = 0
        self._judged = False
        self._unjudged = 0
        self._left: frozenset[tuple[int, str, int]] = frozenset()

    async def to_its_end(self, continued: Continued, begun: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
        """The run's table, and the manifest beside it, are written."""
        plan, journal = self._plan, self._journal
        try:
            self._left = frozenset(call[:3] for call in continued.left)
            self._begin(continued, begun)
            self._on_event(
                Started(
                    journal.name,
                    plan.results,
                    len(plan.failing),
                    plan.input_tokens,
                    str(journal.path),
                    journal.count,
                    [described_metric(metric) for metric in plan.metrics],
                )
            )
            await self._ask_all()
            table = journal.path.with_name(f"{journal.name}.csv")
            _remove_leftovers(table)
            write_table(table, plan, journal)
            ended = ended_manifest(begun, self._totals().summary())
            write_manifest(table.with_suffix(".json"), ended)
        except asyncio.CancelledError:
            self._on_event(Stopped(journal.count, plan.results, str(journal.path)))
            raise
        except BudgetSpentError as spent:
            self._on_event(Stopped(journal.count, plan.results, str(journal.path), spent.message))
            raise
        except OSError as error:
            raise _unwritten(journal, error) from None
        return table, ended

    def _begin(self, continued: Continued, begun: dict[str, Any]) -> None:
        """The journal says what is run, and holds what is taken over."""
        if continued.header is not None:
            self._journal.forget_failed()
            return
        begun["run"] = self._journal.name
        experiment = self._plan.experiment
        self._journal.describe(begun, [model.name for model in experiment.models], experiment.repeats)
        for result in continued.carried:
            self._journal.append(result)

    def _totals(self) -> Totals:
        """What all results in the journal come to."""
        totals = Totals(self._plan.metrics, [model.name for model in self._plan.experiment.models])
        for result in self._journal.results():
            totals.add(result)
        return totals

    async def _ask_all(self) -> None:
        """Every result is in the journal; raises `BudgetSpentError` where the budget does not allow that."""
        async with opened_models(self._plan, self._journal.note_call) as asker:
            askings = self._askings()
            at_once = min(self._plan.experiment.concurrency, self._plan.results)
            cache = [self._plan.cache.sync] if self._plan.cache is not None else []
            async with synced(self._journal.sync, *cache):
                await done_at_once(lambda: self._work(askings, asker), at_once)
        check_spending(self._spending, self._journal, self._plan.results, "results")

    def _askings(self) -> Iterator[Asking]:
        experiment = self._plan.experiment
        for row, rendered in self._plan.rendered:
            for model in experiment.models:
                for repeat in range(1, experiment.repeats + 1):
                    if not self._journal.has_answer(row.number, model.name, repeat):
                        prior = self._journal.unscored(row.number, model.name, repeat)
                        is_left = (row.number, model.name, repeat) in self._left
                        yield Asking(row, rendered, model, repeat, prior, is_left)

    async def _work(self, askings: Iterator[Asking], asker: Asker) -> None:
        for asking in askings:
            row, rendered, model, repeat, prior, is_left = asking
            expected = Expected()
            if is_left:
                asked = asker.left(row, rendered, model, repeat)
            elif prior is not None:
                expected = asker.expected_again()
                if not self._spending.allows(expected):
                    return
                asked = await asker.score_again(row, prior)
                self._spending.settle(expected, calls=asked.calls, tokens=asked.tokens, cost=asked.cost)
            elif not asker.is_there(rendered, model, repeat):
                expected = asker.expected(rendered, model, repeat)
                if not self._spending.allows(expected):
                    return
                asked = await asker.ask(row, rendered, model, repeat)
                self._spending.settle(expected, calls=asked.calls, tokens=asked.tokens, cost=asked.cost)
            else:
                asked = await asker.ask(row, rendered, model, repeat)
            self._keep(asked)

    def _keep(self, asked: Asked) -> None:
        result, failure = asked.result, asked.failure
        self._journal.append(result)
        self._answered = self._answered or result.error is None or failure is None
        self._done += 1
        self._unanswered = 0 if failure is None else self._unanswered + 1
        done, total = self._journal.count, self._plan.results
        now = time.perf_counter()
        rate = len(self._ends) / max(now - self._ends[0], 1e-9)
        self._ends.append(now)
        self._on_event(
            RowFinished(
                result.id,
                result.model,
                result.error,
                {name: score.value for name, score in result.scores.items()},
                done,
                total,
                now - self._began,
                (total - done) / rate,
                rate,
                result.cached,
                result.problem,
            )
        )
        if failure is not None:
            self._give_up_where_hopeless(failure, total)
        self._judged = self._judged or asked.judged
        if asked.judge_failure is not None:
            self._unjudged += 1
            if not self._judged and self._unjudged >= min(HOPELESS, total):
                words = f"the model that judges answered for none of the first {self._unjudged} responses"
                raise self._hopeless(words, asked.judge_failure)

    def _give_up_where_hopeless(self, failure: ModelError, total: int) -> None:
        if not self._answered and self._done >= min(HOPELESS, total):
            raise self._hopeless(f"the model answered none of the first {self._done} rows", failure)
        limit = max(GONE, 2 * self._plan.experiment.concurrency)
        if self._unanswered >= limit and self._journal.count < total:
            raise self._hopeless(f"the model has answered none of the last {self._unanswered} rows", failure)

    def _hopeless(self, words: str, failure: ModelError) -> Failure:
        remedy = f"{failure.remedy}; " if failure.remedy else ""
        return Failure(
            f"{words}: {failure.message}",
            FilePlace(self._journal.path),
            f"{remedy}then go on with `promptls run --resume {self._journal.name}`",
        )
