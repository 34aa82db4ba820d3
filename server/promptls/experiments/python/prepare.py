"""From a request for a code-defined experiment to what can be run: a new run, or one that is gone on with."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from promptls.datasets.files import Row
from promptls.experiments.access import sends_of
from promptls.experiments.budget import Budget
from promptls.experiments.events import Planned
from promptls.experiments.find_run import find_run, find_unfinished
from promptls.experiments.history import RunSummary
from promptls.experiments.manifest import hash_of_file
from promptls.experiments.python.manifest import file_hashes
from promptls.experiments.python.plan import PythonPlan, python_plan
from promptls.experiments.python.request import PythonRequest, python_access
from promptls.experiments.python.rows import digest_of_row
from promptls.experiments.python.table import good_rows
from promptls.experiments.request import RunRequest
from promptls.experiments.under_way import CallUnderWay, unsure_words
from promptls.experiments.unfinished import UnfinishedRun, reopen_run
from promptls.models.prices import is_paid
from promptls.models.registry import find_model
from promptls.text.errors import FilePlace, UsageError
from promptls.workspace.settings import find_project

Answered: TypeAlias = Mapping[tuple[int, int], str]
"""The hashes of the rows that need no call, by number and repeat; empty where none is known."""


@dataclass(frozen=True, slots=True)
class PreparedPython:
    """A plan with what it goes on from, and what is to be told before it is run."""

    plan: PythonPlan
    request: RunRequest
    planned: Planned
    answered: Answered
    resumed: UnfinishedRun | None = None
    retried: RunSummary | None = None
    left: tuple[CallUnderWay, ...] = ()
    """Calls that may have been paid for when the run broke off, and are not made again."""

    @property
    def budget(self) -> Budget:
        """What the run may spend: calls of the function, and the tokens and the cost that it gives."""
        request = self.request
        return Budget(request.max_calls, request.max_tokens, request.max_cost)

    @property
    def results(self) -> int:
        """How many results the run has: rows x repeats."""
        return self.planned.rows * self.plan.repeats

    def is_due(self, row: Row, repeat: int) -> bool:
        """Return whether the function is to be called with the row."""
        return _is_due(row, repeat, self.answered)


@contextmanager
def prepared_python(code_defined: PythonRequest) -> Iterator[PreparedPython]:
    """Provide the prepared run; the experiment's file was executed, and its function was not.

    The process works in the folder of the experiment's file from here on, as when the file itself is run.
    Raises UserError as `python_plan` does, and UsageError for a run that cannot be gone on with.
    """
    request, experiment = code_defined
    resumed: UnfinishedRun | None = None
    retried: RunSummary | None = None
    if request.resume is not None:
        resumed = reopen_run(find_unfinished(request.resume).absolute())
    elif request.retry_errors is not None:
        found = find_run(request.retry_errors)
        retried = replace(found, results=found.results.absolute())
        if not found.failed:
            raise UsageError(
                f"no row of {found.name} failed", FilePlace(found.results), "there is nothing to retry"
            )
    try:
        os.chdir(Path(experiment.file).parent)
        plan = python_plan(experiment, request)
        answered: dict[tuple[int, int], str] = {}
        if resumed is not None:
            _check_same(plan, resumed)
            answered = {
                (each.number, each.repeat): each.digest for each in resumed.results() if each.error is None
            }
        elif retried is not None:
            answered = {(each.number, each.repeat): each.digest for each in good_rows(retried)}
        unsure = tuple(resumed.calls_in_flight) if resumed is not None else ()
        left = unsure if request.leave_unsure else ()
        planned = replace(
            _planned(code_defined, plan, answered, {(call.number, call.repeat) for call in left}),
            unsure=unsure_words(unsure, _ids(plan, unsure), None, left=request.leave_unsure),
        )
        yield PreparedPython(plan, request, planned, answered, resumed, retried, left)
    finally:
        if resumed is not None:
            resumed.close()


def _is_due(row: Row, repeat: int, answered: Answered) -> bool:
    # A row that the dataset gives otherwise by now is another one.
    known = answered.get((row.number, repeat))
    return known is None or known not in {"", digest_of_row(row)}


def _ids(plan: PythonPlan, calls: Sequence[CallUnderWay]) -> dict[int, str]:
    """Return the ids of the rows of these calls, by number, where they have some."""
    numbers = {call.number for call in calls}
    rows = (row for row in plan.rows if row.number in numbers) if numbers else ()
    return {row.number: str(row.values["id"]) for row in rows if row.values.get("id") not in {None, ""}}


def _planned(
    code_defined: PythonRequest, plan: PythonPlan, answered: Answered, left: Collection[tuple[int, int]]
) -> Planned:
    access = python_access(code_defined)
    rows = plan.rows.count()
    calls = rows * plan.repeats
    if answered or left:
        repeats = range(1, plan.repeats + 1)
        calls = sum(
            _is_due(row, repeat, answered) and (row.number, repeat) not in left
            for row in plan.rows
            for repeat in repeats
        )
    if not rows:
        raise UsageError(
            f"no row of the dataset is chosen by `{plan.rows.choice.text}`"
            if plan.rows.choice.text
            else "the dataset has no rows",
            FilePlace(plan.rows.path or plan.experiment.file),
            "choose other rows, or leave out `--rows`" if plan.rows.choice.text else "give it some",
        )
    return Planned(
        experiment=plan.experiment.name,
        rows=rows,
        failing=0,
        first_failing=None,
        over_limit=0,
        calls=calls,
        cached=0,
        tokens=0,
        prompt_cost=None,
        longest_cost=None,
        changed=None,
        before=None,
        question=_question(plan, calls),
        sends=sends_of((), access.ray_address),
        environment=sorted(name for name in access.key_variables if name in os.environ),
    )


def _question(plan: PythonPlan, calls: int) -> str | None:
    project = find_project(plan.prompt)
    if calls <= project.settings.ask_above.calls:
        return None
    if plan.requested_model is not None:
        try:
            model = find_model(plan.requested_model, project.settings.models, project.root)
        except UsageError:
            model = None  # the function may know it
        if model is not None and not is_paid(model):
            return None
    name = plan.experiment.name
    what = f"for {calls:,} rows" if plan.repeats == 1 else f"{calls:,} times"
    return f"The run calls `{name}` {what}, and what that costs is not known. Run it?"


def _check_same(plan: PythonPlan, run: UnfinishedRun) -> None:
    """Raise UsageError where the run would no longer be the same."""
    changed = None
    hashes = file_hashes(plan)
    header = run.header
    before = header["files"]
    for name, digest in hashes.items():
        if before.get(name) != digest:
            changed = f"`{Path(name).name}`"
    dataset = header["dataset"]
    if dataset["sha256"] is not None and (
        plan.rows.path is None or hash_of_file(plan.rows.path) != dataset["sha256"]
    ):
        changed = "the dataset"
    if changed is not None:
        raise UsageError(
            f"{changed} changed after this run began, so it can no longer be gone on with",
            FilePlace(run.path),
            "run the experiment anew",
        )
