"""Preparing a requested run: the entry point of the command line and of the run process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.dataset_files import Row
from promptls.experiments.access import Access, sends_of
from promptls.experiments.answer_cache import CallInFlight, calls_without_answer, describe_calls_in_flight
from promptls.experiments.budget import Budget
from promptls.experiments.definition import define_experiment
from promptls.experiments.examples import over_examples
from promptls.experiments.experiment import Experiment, override_values, with_engine
from promptls.experiments.history import RunSummary, last_runs, row_results
from promptls.experiments.judging import judging_references, possible_models
from promptls.experiments.manifest import changed_scoring, described_model, hash_of_file, manifest_of
from promptls.experiments.named_runs import find_unfinished, former_run, run_to_retry
from promptls.experiments.plan import IsThere, Plan, parameters_of, plan_run
from promptls.experiments.prompt_runner import FROM_THE_START, Continued
from promptls.experiments.python.request import python_access, python_request
from promptls.experiments.results_table import good_digests, good_results
from promptls.experiments.row_choice import FAILING, RowChoice, is_of_examples, parse_rows
from promptls.experiments.row_rendering import RenderedRow, row_renderer
from promptls.experiments.run_protocol import Planned, RunRequest
from promptls.experiments.unfinished import UnfinishedRun, read_header, reopen_run
from promptls.experiments.verdicts import failing_choice
from promptls.models.providers import is_paid, price_of
from promptls.security.files import current_scope, join_path
from promptls.settings.header import Engine
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code, in_dollars
from promptls.workspace.settings import find_project


def changed_rows(rendered: Iterable[tuple[Row, RenderedRow]], before: RunSummary) -> int | None:
    """Return the number of rows that render differently from the run `before`.

    Rows that were not part of that run are included.

    None if the run's table no longer exists.
    """
    try:
        known = {
            int(cells["row_number"]): cells.get("rendered_hash") or ""
            for cells in row_results(before)
            if (cells.get("row_number") or "").isdecimal()
        }
    except (OSError, ValueError, UserError):
        return None
    return sum(known.get(row.number) != each.digest for row, each in rendered)


def in_flight_message(plan: Plan, calls: Sequence[CallInFlight], *, left: bool) -> str | None:
    """Return a sentence with the calls and their approximate cost; None if there are none.

    `left` means that they are not repeated.
    """
    if not calls:
        return None
    numbers = {call.number for call in calls}
    found = {
        row.number: (row.id, rendered.tokens) for row, rendered in plan.rendered if row.number in numbers
    }
    costs = [_cost(plan, call, found.get(call.number, ("", 0))[1]) for call in calls]
    known = [cost for cost in costs if cost is not None]
    ids = {number: name for number, (name, _) in found.items()}
    return describe_calls_in_flight(calls, ids, sum(known) if known else None, left=left)


def _cost(plan: Plan, call: CallInFlight, tokens: int) -> float | None:
    """Return the approximate cost of a call in US dollars; None if the price is unknown."""
    for model in plan.experiment.models:
        if model.name == call.called_model == call.model and is_paid(model):
            longest = parameters_of(plan.experiment, model, call.repeat).get("max_tokens")
            return price_of(model).cost(tokens, longest if isinstance(longest, int) else None)
    for asks in plan.asks.values():
        if asks.judge is not None and asks.judge.name == call.called_model and is_paid(asks.judge):
            return price_of(asks.judge).cost(asks.tokens // max(asks.calls, 1), None)
    return None


class Prepared(NamedTuple):
    """A plan, the run that it continues, and its report."""

    plan: Plan
    continued: Continued
    planned: Planned


@asynccontextmanager
async def prepare_run(request: RunRequest) -> AsyncIterator[Prepared]:
    """Prepare `request`: the prompts are rendered, but nothing is spent yet.

    Raises `UsageError` and `UserError` as
    `define_experiment` and `plan_run` do, and `UsageError` for a run that cannot be resumed.
    """
    if request.resume is not None:
        opened = _resume(request)
    elif request.retry_errors is not None:
        opened = _retry(request)
    else:
        opened = _new(request)
    experiment = opened.experiment
    try:
        if not current_scope().allows(experiment.folder):
            raise UserError(
                "the results would be outside of the folder", FilePlace(experiment.folder), "trust it first"
            )
        async with row_renderer(experiment) as rows:
            plan = await plan_run(
                experiment,
                opened.choice,
                rows,
                since=opened.fresh_since or (time.time() if request.fresh else None),
                is_there=opened.is_there(),
            )
        try:
            continued = opened.continued(plan)
            before = _before(experiment, opened.choice)
            in_flight = in_flight_message(plan, opened.in_flight, left=opened.skips_in_flight)
            yield Prepared(plan, continued, replace(plan_report(plan, before), in_flight=in_flight))
        finally:
            plan.close()
    finally:
        if opened.resumed is not None:
            opened.resumed.close()


class _Opened(NamedTuple):
    """An experiment, its selected rows, and the run that it continues."""

    experiment: Experiment
    choice: RowChoice | None
    resumed: UnfinishedRun | None = None
    retried: RunSummary | None = None
    # A run that ignores cached answers also ignores those from before its start when it is resumed.
    fresh_since: float | None = None
    # Calls of the resumed run that may have been charged, and whether they are skipped.
    in_flight: tuple[CallInFlight, ...] = ()
    skips_in_flight: bool = False

    def continued(self, plan: Plan) -> Continued:
        """Return the run that is continued; raises `UsageError` if its inputs have changed."""
        if self.resumed is not None:
            _check_same(plan, self.resumed)
            return Continued(resumed=self.resumed, left=self._left)
        if self.retried is not None:
            again = changed_scoring(plan, manifest_of(self.retried.manifest))
            return Continued(carried=good_results(self.retried, plan, again), run=self.retried.name)
        return FROM_THE_START

    def is_there(self) -> IsThere | None:
        """Return a predicate for results that the resumed run already has."""
        if (run := self.resumed) is not None:
            left = {call[:3] for call in self._left}
            return lambda number, model, repeat, _digest: (
                run.has_answer(number, model, repeat) or (number, model, repeat) in left
            )
        if self.retried is None:
            return None
        answered = good_digests(self.retried)
        return lambda number, model, repeat, digest: answered.get((number, model, repeat)) == digest

    @property
    def _left(self) -> tuple[CallInFlight, ...]:
        return self.in_flight if self.skips_in_flight else ()


def requested_access(request: RunRequest) -> Access:
    """Return the variables that a run may read and the servers it uses; no user code is executed.

    Raises `UsageError` and `UserError` as `prepare_run` does.
    """
    code_defined = python_request(request)
    if code_defined is not None:
        return python_access(code_defined)
    experiment = _requested(request)
    on_ray = experiment.engine == "ray" and experiment.ray_from_project
    return Access(
        find_project(experiment.prompt),
        tuple(possible_models(experiment)),
        experiment.ray_address if on_ray else None,
    )


def _requested(request: RunRequest) -> Experiment:
    """Return the experiment of the request, or of the run that it continues."""
    former = former_run(request)
    if former is not None:
        file, header = former
        return _of_manifest(request, header, file.parent)
    return _defined(request, Path(request.prompt), request.experiment, request.models)


def plan_report(plan: Plan, before: RunSummary | None) -> Planned:
    """Return the report of a plan, including the confirmation question, if any."""
    costs = [cost for each in plan.estimates if (cost := each.prompt_cost) is not None]
    longest = [cost for each in plan.estimates if (cost := each.longest_cost) is not None]
    first = plan.rendered.failing[0] if plan.rendered.failing else None
    prompt_cost = sum(costs) if costs else None
    experiment = plan.experiment
    models = [*experiment.models, *judging_references(plan.asks)]
    on_ray = experiment.engine == "ray" and experiment.ray_from_project
    longest_cost = sum(longest) if longest and len(longest) == len(costs) else None
    return Planned(
        experiment=experiment.name,
        rows=plan.rows,
        failing=len(plan.rendered.failing),
        first_failing=f"row {first.number}, line {first.line + 1} of the dataset: {first.message}"
        if first
        else None,
        over_limit=plan.rendered.over_limit,
        calls=plan.calls,
        cached=plan.cached,
        tokens=sum(each.tokens for each in plan.estimates),
        prompt_cost=prompt_cost,
        longest_cost=longest_cost,
        changed=changed_rows(plan.rendered, before) if before is not None else None,
        before=before.name if before is not None else None,
        question=_question(plan, longest_cost if longest_cost is not None else prompt_cost),
        judging=plan.judging,
        sends=sends_of(models, experiment.ray_address if on_ray else None),
        environment=experiment.environment,
    )


def _question(plan: Plan, cost: float | None) -> str | None:
    experiment = plan.experiment
    if cost is not None and cost > experiment.ask_above_cost:
        return f"The run makes {plan.calls:,} calls, for about {in_dollars(cost)}. Run it?"
    unpriced = [each for each in plan.estimates if each.paid and each.prompt_cost is None]
    unknown = sum(each.calls for each in unpriced)
    if unknown > experiment.ask_above_calls:
        names = in_code((each.model for each in unpriced), " and ")
        return f"The run makes {unknown:,} calls of {names}, whose price is not known. Run it?"
    return None


def _before(experiment: Experiment, choice: RowChoice | None) -> RunSummary | None:
    """Return the latest complete run, or the latest over the same rows; None for runs over examples."""
    if choice is not None and is_of_examples(choice.text):
        return None
    scored = last_runs(experiment.prompt, experiment.name).scored
    chosen = (choice.text or None) if choice is not None else None
    return scored if scored is None or scored.is_complete or scored.rows_chosen == chosen else None


def _new(request: RunRequest) -> _Opened:
    experiment = _defined(request, Path(request.prompt), request.experiment, request.models)
    if request.rows is None:
        return _Opened(experiment, None)
    if str(request.rows) == FAILING:
        return _Opened(experiment, failing_choice(experiment.prompt, experiment.name))
    return _Opened(*_chosen(experiment, str(request.rows)))


def _chosen(experiment: Experiment, rows: str) -> tuple[Experiment, RowChoice]:
    """Return the experiment over the selected rows of its dataset or examples of its prompt."""
    return over_examples(experiment, rows) if is_of_examples(rows) else (experiment, parse_rows(rows))


def _resume(request: RunRequest) -> _Opened:
    path = find_unfinished(str(request.resume))
    header = read_header(path)
    experiment = _of_manifest(request, header, path.parent)
    since = _fresh_since(header)
    chosen = _rows_of(experiment, header)
    run = reopen_run(path)
    return _Opened(
        *chosen,
        run,
        fresh_since=since,
        in_flight=calls_without_answer(run.calls_in_flight, experiment.folder, since),
        skips_in_flight=request.skip_in_flight,
    )


def _retry(request: RunRequest) -> _Opened:
    run = run_to_retry(str(request.retry_errors), complete=request.complete)
    header = manifest_of(run.manifest)
    if request.complete and is_of_examples(run.rows_chosen):
        raise UsageError(
            f"{run.name} ran on the prompt's examples, not on rows of a dataset",
            FilePlace(run.results),
            "run all rows: leave out `--complete`",
        )
    experiment = _of_manifest(request, header, run.manifest.parent)
    chosen = (experiment, None) if request.complete else _rows_of(experiment, header)
    return _Opened(*chosen, retried=run, fresh_since=_fresh_since(header))


def _fresh_since(header: Mapping[str, Any]) -> float | None:
    since = header["settings"].get("fresh_since")
    return float(since) if since is not None else None


def _rows_of(experiment: Experiment, header: Mapping[str, Any]) -> tuple[Experiment, RowChoice | None]:
    text = header["dataset"].get("rows")
    return _chosen(experiment, text) if text else (experiment, None)


def _of_manifest(request: RunRequest, header: Mapping[str, Any], folder: Path) -> Experiment:
    prompt = join_path(folder, str(header["prompt"]))
    names = [str(model["name"]) for model in header["models"]]
    settings = header["settings"]
    experiment = _defined(request, prompt, str(header["experiment"]), names)
    # A run on a cluster is continued there by default.
    engine: Engine | None = request.engine or ("ray" if settings.get("engine") == "ray" else None)
    return override_values(
        with_engine(experiment, engine, request.ray_address),
        repeats=int(settings["repeats"]),
        parameters=settings["parameters"],
    )


def _defined(request: RunRequest, prompt: Path, name: str | None, models: Any) -> Experiment:
    experiment = define_experiment(
        prompt,
        name,
        unsaved=request.unsaved,
        models=models,
        models_base=Path(request.models_base) if request.models_base else None,
    )
    return override_values(
        with_engine(experiment, request.engine, request.ray_address),
        concurrency=request.concurrency,
        timeout=request.timeout,
        repeats=request.repeats,
        parameters={} if request.seed is None else {"seed": request.seed},
        budget=Budget(request.max_calls, request.max_tokens, request.max_cost),
    )


def _check_same(plan: Plan, run: UnfinishedRun) -> None:
    header, changed = run.header, None
    if header["dataset"]["sha256"] != hash_of_file(plan.dataset.path):
        changed = "the dataset"
    elif header["rendered_hash"] != plan.rendered.hash:
        changed = "the prompt"
    elif header["models"] != [described_model(model) for model in plan.experiment.models]:
        changed = "the settings of the models"
    elif header["settings"]["metrics"] != list(plan.experiment.metrics):
        changed = "the experiment's list of metrics"
    else:
        changed = next(iter(changed_scoring(plan, header).values()), None)
    if changed is not None:
        raise UsageError(
            f"{changed} changed after this run began, so it can no longer be resumed",
            FilePlace(run.path),
            "run the experiment again: rows that have not changed are answered from the cache",
        )
