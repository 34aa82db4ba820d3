"""What a run of a code-defined experiment would do: which function, which rows, which arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.experiments.failing_choice import failing_choice
from promptls.experiments.python.module import loaded_module, value_of
from promptls.experiments.python.rows import FileRows, PythonRows
from promptls.experiments.request import RunRequest
from promptls.experiments.results_folder import prompt_stem
from promptls.experiments.row_choice import ALL_ROWS, FAILING, RowChoice, parse_rows
from promptls.metrics.metric import Metric
from promptls.models.grants import missing_among, ray_grants
from promptls.models.ray_nodes import check_cluster
from promptls.semantic.template import Template
from promptls.settings.header import Engine
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.workspace.disk import source_of, text_on_disk
from promptls.workspace.python_experiments import PythonExperiment, findings_in_file
from promptls.workspace.settings import find_project

_PREFERRED = "load_dataset"
_MODEL_PARAMETERS = ("model", "model_name")
_NAME_PARAMETER = "experiment_name"
_SEED_PARAMETER = "seed"


@dataclass(frozen=True, slots=True)
class PythonPlan:
    """A function and everything that it is called with; nothing is called yet."""

    experiment: PythonExperiment
    prompt: Path
    function: Callable[..., Any]
    model: Any
    """The pydantic model of the results; None if there is none."""
    rows: PythonRows
    arguments: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    """The metrics whose scores the results hold, by the column."""
    model_name: str
    """The model that the function was told to ask; the experiment's name where it is not told."""
    requested_model: str | None = None
    """The model that the function was told to ask, by whoever runs it or by the project."""
    repeats: int = 1
    """How often the function is called with each row."""
    engine: Engine = "local"
    """Where the function is called: in this process, or on the nodes of a Ray cluster."""
    ray_address: str | None = None
    ray_from_project: bool = False
    """Whether the settings of the project chose the address."""

    def arguments_of(self, repeat: int) -> dict[str, Any]:
        """Return what the function is called with beside a row; with a seed, each repeat has the next one."""
        arguments = dict(self.arguments)
        if isinstance(seed := arguments.get(_SEED_PARAMETER), int):
            arguments[_SEED_PARAMETER] = seed + repeat - 1
        return arguments

    @property
    def is_asynchronous(self) -> bool:
        """Whether the function is one to be awaited."""
        return inspect.iscoroutinefunction(self.function)


def python_plan(experiment: PythonExperiment, request: RunRequest) -> PythonPlan:
    """Return the plan of the run; it runs the experiment's file, and loads the dataset.

    Raises UserError for a file that cannot be run, and UsageError where nothing says which dataset is meant,
    or what a parameter of the function is.
    """
    _check_options(experiment, request)
    path, prompt = Path(experiment.file), Path(request.prompt)
    module = loaded_module(path)
    made = value_of(module, experiment.name, path)
    function = getattr(made, "func", made)
    arguments = _arguments(experiment, function, request)
    metrics = {
        column: metric
        for column, name in experiment.scores.items()
        if (metric := _metric(getattr(module, name, None), column)) is not None
    }
    told = next((str(arguments[name]) for name in _MODEL_PARAMETERS if name in arguments), None)
    return PythonPlan(
        experiment,
        prompt,
        function,
        getattr(made, "experiment_model", None),
        PythonRows(_rows(experiment, module, request), _choice(experiment, request)),
        arguments,
        metrics,
        told or experiment.name,
        told,
        request.repeats or 1,
        *_engine(prompt, request),
    )


def _engine(prompt: Path, request: RunRequest) -> tuple[Engine, str | None, bool]:
    """Return where the function is called, the address of the cluster, and whether the project says it.

    Raises UserError where there is no Ray.
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
    """Raise UsageError for what only an experiment that a prompt declares can be asked."""
    place = FilePlace(experiment.file, experiment.line)
    if request.leave_one_out:
        raise UsageError(
            f"the experiment `{experiment.name}` is a Python function, whose prompts cannot be changed",
            place,
            "choose an experiment that the prompt declares",
        )


def _metric(found: Any, column: str) -> Metric | None:
    """Return a metric of promptls or of Ragas, under the name of its column."""
    if isinstance(found, Metric):
        return Metric(column, found.kind, found.allowed_values, found.function, found.lower_is_better)
    allowed = getattr(found, "allowed_values", None)
    if isinstance(allowed, list):
        return Metric(column, "discrete", allowed, str)
    if isinstance(allowed, tuple | range):
        return Metric(column, "numeric", allowed, float)
    return Metric(column, "ranking", allowed, list) if isinstance(allowed, int) else None


def _arguments(
    experiment: PythonExperiment, function: Callable[..., Any], request: RunRequest
) -> dict[str, Any]:
    prompt = Path(request.prompt)
    known: dict[str, Any] = {_NAME_PARAMETER: prompt_stem(prompt)}
    if experiment.prompt_parameter is not None:
        known[experiment.prompt_parameter] = str(prompt)
    model = request.models[0] if request.models else None
    if model is None and experiment.required & set(_MODEL_PARAMETERS):
        model = find_project(prompt).settings.default_model
    if model is not None:
        known |= dict.fromkeys(_MODEL_PARAMETERS, model)
    if request.seed is not None:
        known[_SEED_PARAMETER] = request.seed
    missing = sorted(experiment.required - known.keys())
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise UsageError(
            f"nothing says what {listed} of the experiment `{experiment.name}` is",
            FilePlace(experiment.file, experiment.line),
            "give the parameter a default, or run the experiment with its own `arun`",
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
    own = list((template.declarations.settings.experiments or {}).values())
    project = find_project(prompt)
    shared = list(project.settings.experiments.values())
    if own or shared:
        path = prompt.parent / own[0].dataset if own else project.root / shared[0].dataset
        return FileRows(path)
    raise UsageError(
        f"nothing says which dataset the experiment `{experiment.name}` is run on",
        FilePlace(experiment.file, experiment.line),
        "write a function `load_dataset()` in the file, which gives a `Dataset`",
    )
