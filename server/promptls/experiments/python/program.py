"""Preparing a requested code-defined experiment to be started or resumed."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from promptls.datasets.backends import LocalBackend
from promptls.datasets.cells import json_line
from promptls.datasets.dataset_files import Row, open_dataset
from promptls.experiments import manifest
from promptls.experiments.access import sends_of
from promptls.experiments.answer_cache import CallInFlight, describe_calls_in_flight
from promptls.experiments.budget import Budget
from promptls.experiments.history import RunSummary
from promptls.experiments.named_runs import find_unfinished, run_to_retry
from promptls.experiments.python.functions import experiment_module, value_of
from promptls.experiments.python.program_manifest import (
    MODEL_PARAMETERS,
    column_metric,
    described_inputs,
    file_hashes,
)
from promptls.experiments.python.request import PythonRequest, python_access
from promptls.experiments.results_table import good_rows
from promptls.experiments.row_choice import ALL_ROWS, FAILING, RowChoice, parse_rows
from promptls.experiments.run_protocol import Planned, RunRequest
from promptls.experiments.unfinished import UnfinishedRun, reopen_run
from promptls.experiments.verdicts import failing_choice
from promptls.metrics.metric import Metric
from promptls.models.keys import missing_among, ray_grants
from promptls.models.model_names import find_model
from promptls.models.providers import is_paid
from promptls.models.ray_cluster import check_cluster
from promptls.semantic.template import Template
from promptls.settings.header import Engine
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code
from promptls.workspace.disk import source_of, text_on_disk
from promptls.workspace.python_experiments import PythonExperiment, findings_in_file
from promptls.workspace.settings import find_project


def digest_of_row(row: Row) -> str:
    """Return a hash that identifies the row's values."""
    return hashlib.sha256(json_line(row.values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class FileRows:
    """The rows of a file as mappings, read on each iteration; raises UserError for unreadable rows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row.values) for row in open_dataset(self.path).rows())


class PythonRows:
    """The selected rows of the dataset that the experiment's file provides."""

    def __init__(self, rows: Iterable[Any], choice: RowChoice = ALL_ROWS) -> None:
        # Iterators are stored in a list, since rows are counted before they are processed.
        self._rows = list(rows) if isinstance(rows, Iterator) else rows
        self.choice = choice

    @property
    def path(self) -> Path | None:
        """The file that contains the rows, if known."""
        if isinstance(self._rows, FileRows):
            return self._rows.path
        backend = getattr(self._rows, "backend", None)
        name = getattr(self._rows, "name", None)
        if not isinstance(backend, LocalBackend) or not isinstance(name, str):
            return None
        path = backend.path_of(name, "datasets").absolute()
        return path if path.is_file() else None

    def __iter__(self) -> Iterator[Row]:
        """Yield each selected row in order; raises `UsageError` as `RowChoice.of` does."""
        rows = (
            Row(number, number - 1, item if isinstance(item, Mapping) else dict(item), item)
            for number, item in enumerate(self._rows, start=1)
        )
        return self.choice.of(rows, self.path)

    def count(self) -> int:
        """Return the number of selected rows."""
        if self.choice == ALL_ROWS and isinstance(self._rows, Sized):
            return len(self._rows)
        return sum(1 for _ in self)


_PREFERRED = "load_dataset"
_NAME_PARAMETER = "experiment_name"
_SEED_PARAMETER = "seed"


@dataclass(frozen=True, slots=True)
class PythonPlan:
    """A function and its arguments, before it is called."""

    experiment: PythonExperiment
    prompt: Path
    function: Callable[..., Any]
    model: Any
    """The pydantic model of the results; None if there is none."""
    rows: PythonRows
    arguments: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    """The metrics whose scores the results contain, by column."""
    model_name: str
    """The model that was passed to the function; the experiment's name if none was passed."""
    requested_model: str | None = None
    """The model that the request or the project selects for the function."""
    repeats: int = 1
    """How many times the function is called with each row."""
    engine: Engine = "local"
    """Where the function is executed: in this process, or on the nodes of a Ray cluster."""
    ray_address: str | None = None
    ray_from_project: bool = False
    """Whether the address comes from project settings."""

    def arguments_of(self, repeat: int) -> dict[str, Any]:
        """Return the function's arguments other than the row; with a seed, each repeat uses the next seed."""
        arguments = dict(self.arguments)
        if isinstance(seed := arguments.get(_SEED_PARAMETER), int):
            arguments[_SEED_PARAMETER] = seed + repeat - 1
        return arguments

    @property
    def is_asynchronous(self) -> bool:
        """Whether the function is asynchronous."""
        return inspect.iscoroutinefunction(self.function)


def python_plan(experiment: PythonExperiment, request: RunRequest) -> PythonPlan:
    """Execute the experiment's file, load the dataset and return the plan of the run.

    Raises UserError if the file cannot be executed, and UsageError if the dataset is not specified
    or a parameter of the function has no value.
    """
    _check_options(experiment, request)
    path, prompt = Path(experiment.file), Path(request.prompt)
    module = experiment_module(path)
    made = value_of(module, experiment.name, path)
    function = getattr(made, "func", made)
    arguments = _arguments(experiment, function, request)
    metrics = {
        column: metric
        for column, name in experiment.scores.items()
        if (metric := column_metric(getattr(module, name, None), column)) is not None
    }
    reported = next((str(arguments[name]) for name in MODEL_PARAMETERS if name in arguments), None)
    return PythonPlan(
        experiment,
        prompt,
        function,
        getattr(made, "experiment_model", None),
        PythonRows(_rows(experiment, module, request), _choice(experiment, request)),
        arguments,
        metrics,
        reported or experiment.name,
        reported,
        request.repeats or 1,
        *_engine(prompt, request),
    )


def _engine(prompt: Path, request: RunRequest) -> tuple[Engine, str | None, bool]:
    """Return the engine, the address of the cluster, and whether the address comes from the project.

    Raises UserError if Ray is not installed.
    """
    settings = find_project(prompt).settings
    engine: Engine = request.engine or ("ray" if request.ray_address else settings.engine)
    address = request.ray_address or settings.ray.address
    from_project = address is not None and not request.ray_address
    if engine == "ray" and not (from_project and missing_among(ray_grants(address, ()))):
        check_cluster(address)
    return engine, address, from_project


def _choice(experiment: PythonExperiment, request: RunRequest) -> RowChoice:
    if request.rows is None:
        return ALL_ROWS
    if str(request.rows) == FAILING:
        return failing_choice(Path(request.prompt), experiment.name)
    return parse_rows(str(request.rows))


def _check_options(experiment: PythonExperiment, request: RunRequest) -> None:
    """Raise UsageError for options that only apply to experiments declared by prompts."""
    place = FilePlace(experiment.file, experiment.line)
    if request.leave_one_out:
        raise UsageError(
            f"the experiment `{experiment.name}` is a Python function, whose prompts cannot be changed",
            place,
            "choose an experiment that the prompt declares",
        )


def _arguments(
    experiment: PythonExperiment, function: Callable[..., Any], request: RunRequest
) -> dict[str, Any]:
    prompt = Path(request.prompt)
    known: dict[str, Any] = {_NAME_PARAMETER: manifest.prompt_stem(prompt)}
    if experiment.prompt_parameter is not None:
        known[experiment.prompt_parameter] = str(prompt)
    model = request.models[0] if request.models else None
    if model is None and experiment.required & set(MODEL_PARAMETERS):
        model = find_project(prompt).settings.default_model
    if model is not None:
        known |= dict.fromkeys(MODEL_PARAMETERS, model)
    if request.seed is not None:
        known[_SEED_PARAMETER] = request.seed
    missing = sorted(experiment.required - known.keys())
    if missing:
        raise UsageError(
            f"the experiment `{experiment.name}` has no value for {in_code(missing)}",
            FilePlace(experiment.file, experiment.line),
            "give the parameter a default value, or run the experiment with its own `arun`",
        )
    named = inspect.signature(function).parameters
    if request.seed is not None and _SEED_PARAMETER not in named:
        raise UsageError(
            f"the experiment `{experiment.name}` takes no `{_SEED_PARAMETER}`",
            FilePlace(experiment.file, experiment.line),
            "give the function such a parameter, or leave out `--seed`",
        )
    return {name: value for name, value in known.items() if name in named}


def _rows(experiment: PythonExperiment, module: Any, request: RunRequest) -> Iterable[Any]:
    found = {each.name for each in findings_in_file(experiment.file).datasets}
    name = _PREFERRED if _PREFERRED in found else next(iter(sorted(found)), None)
    if name is not None:
        made = getattr(module, name, None)
        try:
            return made() if inspect.isroutine(made) else made or ()
        except Exception as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"`{name}` cannot load the dataset: {type(error).__name__}: {error}",
                FilePlace(experiment.file),
                "correct the function",
            ) from error
    prompt = Path(request.prompt)
    template = Template(source_of(str(prompt), text_on_disk(str(prompt)) or ""))
    own = list(template.declarations.settings.experiments.values())
    project = find_project(prompt)
    shared = list(project.settings.experiments.values())
    if own or shared:
        path = prompt.parent / own[0].dataset if own else project.root / shared[0].dataset
        return FileRows(path)
    raise UsageError(
        f"the experiment `{experiment.name}` has no dataset",
        FilePlace(experiment.file, experiment.line),
        "add a function `load_dataset()` to the file, which returns a `Dataset`",
    )


def python_manifest(prepared: PreparedPython, started: datetime) -> dict[str, Any]:
    """Return the manifest of a run before its first row, without its name `run`."""
    plan, request = prepared.plan, prepared.request
    return {
        "format": manifest.FORMAT,
        "run": "",
        "experiment": plan.experiment.name,
        **described_inputs(
            Path(plan.experiment.file),
            plan.prompt,
            manifest.results_folder(plan.prompt),
            plan.rows.path,
            prepared.planned.rows,
            plan.rows.choice.text or None,
        ),
        "models": [{"name": plan.model_name}],
        "settings": {
            "metrics": list(plan.metrics),
            "model": plan.requested_model,
            "seed": plan.arguments.get("seed"),
            "repeats": plan.repeats,
            "concurrency": request.concurrency,
            "timeout": request.timeout,
            "engine": plan.engine,
        },
        "git": manifest.git_state(plan.prompt.parent),
        "started": started.isoformat(timespec="seconds"),
        "continues": prepared.retried.name if prepared.retried is not None else None,
    }


Answered: TypeAlias = Mapping[tuple[int, int], str]
"""The hashes of rows that need no call, by number and repeat; an empty text if unknown."""


@dataclass(frozen=True, slots=True)
class PreparedPython:
    """A plan, the run that it continues, and its report."""

    plan: PythonPlan
    request: RunRequest
    planned: Planned
    answered: Answered
    resumed: UnfinishedRun | None = None
    retried: RunSummary | None = None
    left: tuple[CallInFlight, ...] = ()
    """Calls that may have been charged when the run was interrupted, and are not repeated."""

    @property
    def budget(self) -> Budget:
        """The budget of the run: calls of the function, and the tokens and the cost that it returns."""
        request = self.request
        return Budget(request.max_calls, request.max_tokens, request.max_cost)

    @property
    def results(self) -> int:
        """The number of results: rows x repeats."""
        return self.planned.rows * self.plan.repeats

    def is_due(self, row: Row, repeat: int) -> bool:
        """Return whether the function still has to be called with the row."""
        return _is_due(row, repeat, self.answered)


@contextmanager
def prepared_python(code_defined: PythonRequest) -> Iterator[PreparedPython]:
    """Prepare the run: the experiment's file is executed, but its function is not called.

    The working directory is changed to the folder of the experiment's file.
    Raises UserError as `python_plan` does, and UsageError if a run cannot be resumed.
    """
    request, experiment = code_defined
    resumed: UnfinishedRun | None = None
    retried: RunSummary | None = None
    if request.resume is not None:
        resumed = reopen_run(find_unfinished(request.resume).absolute())
    elif request.retry_errors is not None:
        found = run_to_retry(request.retry_errors, complete=request.complete, judged=False)
        retried = replace(found, results=found.results.absolute())
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
        in_flight = tuple(resumed.calls_in_flight) if resumed is not None else ()
        left = in_flight if request.skip_in_flight else ()
        planned = replace(
            _plan(code_defined, plan, answered, {(call.number, call.repeat) for call in left}),
            in_flight=describe_calls_in_flight(
                in_flight, _ids(plan, in_flight), None, left=request.skip_in_flight
            ),
        )
        yield PreparedPython(plan, request, planned, answered, resumed, retried, left)
    finally:
        if resumed is not None:
            resumed.close()


def _is_due(row: Row, repeat: int, answered: Answered) -> bool:
    # A row that has changed in the dataset counts as a different row.
    known = answered.get((row.number, repeat))
    return known is None or known not in {"", digest_of_row(row)}


def _ids(plan: PythonPlan, calls: Sequence[CallInFlight]) -> dict[int, str]:
    """Return the ids of the rows of these calls, by number, if they have ids."""
    numbers = {call.number for call in calls}
    rows = (row for row in plan.rows if row.number in numbers) if numbers else ()
    return {row.number: str(row.values["id"]) for row in rows if row.values.get("id") not in (None, "")}


def _plan(
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
        calls=calls,
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
            model = None  # the function may accept it
        if model is not None and not is_paid(model):
            return None
    name = plan.experiment.name
    what = f"for {calls:,} rows" if plan.repeats == 1 else f"{calls:,} times"
    return f"The run calls `{name}` {what}, and what that costs is not known. Run it?"


def _check_same(plan: PythonPlan, run: UnfinishedRun) -> None:
    """Raise UsageError if the run's inputs have changed."""
    changed = None
    hashes = file_hashes((plan.prompt, Path(plan.experiment.file)), manifest.results_folder(plan.prompt))
    header = run.header
    before = header["files"]
    for name, digest in hashes.items():
        if before.get(name) != digest:
            changed = f"`{Path(name).name}`"
    dataset = header["dataset"]
    if dataset["sha256"] is not None and (
        plan.rows.path is None or manifest.hash_of_file(plan.rows.path) != dataset["sha256"]
    ):
        changed = "the dataset"
    if changed is not None:
        raise UsageError(
            f"{changed} changed after this run began, so it can no longer be resumed",
            FilePlace(run.path),
            "run the experiment again",
        )
