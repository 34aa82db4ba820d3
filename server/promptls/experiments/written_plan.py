"""What a run of a written experiment on a prompt would do: which function, which rows, which arguments."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.registry import open_dataset
from promptls.experiments.definition import prompt_stem
from promptls.experiments.find_run import find_run
from promptls.experiments.manifest import manifest_of
from promptls.experiments.request import RunRequest
from promptls.experiments.written_module import loaded_module, value_of
from promptls.meaning.template import Template
from promptls.metrics.metric import Metric
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.disk import read_text, source_of
from promptls.workspace.project_settings import find_project
from promptls.workspace.python_experiments import (
    PythonExperiment,
    PythonFindings,
    experiments_for,
    findings_in_file,
    scanned_experiments,
)

_PREFERRED = "load_dataset"
_MODEL_PARAMETERS = ("model", "model_name")
_NAME_PARAMETER = "experiment_name"


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A function and everything that it is called with; nothing is called yet."""

    experiment: PythonExperiment
    prompt: Path
    function: Callable[..., Any]
    model: Any
    """The pydantic model of the results; None where there is none."""
    rows: Iterable[Any]
    arguments: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    """The metrics whose scores the results hold, by the column."""
    asked_model: str
    """The model that the function was told to ask; the experiment's name where it is not told."""

    @property
    def is_asynchronous(self) -> bool:
        """Whether the function is one to be awaited."""
        return inspect.iscoroutinefunction(self.function)


class WrittenRequest(NamedTuple):
    """A request for an experiment in Python, and that experiment."""

    request: RunRequest
    experiment: PythonExperiment


def written_request(request: RunRequest) -> WrittenRequest | None:
    """The experiment in Python that a request is for; None where it is for one that a prompt declares.

    It is named by its name or as `file.py:name`, or is that of a run whose failed rows are to be asked again.
    Python files are read, and not run. Raises WrongUse for a file without such an experiment.
    """
    if request.retry_errors is not None:
        run = find_run(request.retry_errors)
        written_in = manifest_of(run.manifest).get("written_in")
        if not isinstance(written_in, str):
            return None
        path = Path(os.path.normpath(run.manifest.absolute().parent / written_in))
        again = replace(request, prompt=str(run.prompt), experiment=run.experiment)
        return WrittenRequest(again, _in_file(path, run.experiment))
    name = request.experiment
    if name is None or not request.prompt:
        return None
    prompt = Path(request.prompt)
    file, colon, function = name.rpartition(":")
    if colon and file.endswith(".py"):
        return WrittenRequest(request, _in_file((prompt.parent / file).resolve(), function))
    project = find_project(prompt)
    text = request.unsaved.get(str(prompt)) or read_text(str(prompt)) or ""
    declared = Template(source_of(str(prompt), text)).declarations.settings.experiments or {}
    if name in declared or name in project.settings.experiments:
        return None
    scanned: dict[str, PythonFindings] = {}
    root = project.root if project.path is not None else prompt.parent.parent
    for _ in scanned_experiments([str(root)], scanned):
        pass
    offered = {each.name: each for each in experiments_for(scanned, str(prompt))}
    if name in offered:
        return WrittenRequest(request, offered[name])
    known = [*declared, *project.settings.experiments, *offered]
    if not offered:
        return None  # the prompt alone has a say, and tells what it declares
    raise WrongUse(
        f"the prompt has no experiment `{name}`{did_you_mean(name, known)}",
        FilePlace(prompt),
        f"its experiments are {', '.join(f'`{each}`' for each in known)}",
    )


def _in_file(path: Path, name: str) -> PythonExperiment:
    found = {each.name: each for each in findings_in_file(str(path)).experiments}
    if name not in found:
        raise WrongUse(
            f"the file has no experiment `{name}`{did_you_mean(name, found)}",
            FilePlace(path),
            "an experiment is a function under `@experiment()`",
        )
    return found[name]


def written_plan(experiment: PythonExperiment, request: RunRequest) -> WrittenPlan:
    """The plan of the run; it runs the experiment's file, and loads the data set.

    Raises Failure for a file that cannot be run, and WrongUse where nothing says which data set is meant,
    or what a parameter of the function is.
    """
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
    rows = _rows(experiment, module, request)
    told = (str(arguments[name]) for name in _MODEL_PARAMETERS if name in arguments)
    asked = next(told, experiment.name)
    return WrittenPlan(
        experiment, prompt, function, getattr(made, "experiment_model", None), rows, arguments, metrics, asked
    )


def _metric(found: Any, column: str) -> Metric | None:
    """A metric of promptls or of Ragas, under the name of its column."""
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
    missing = sorted(experiment.required - known.keys())
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise WrongUse(
            f"nothing says what {listed} of the experiment `{experiment.name}` is",
            FilePlace(experiment.file, experiment.line),
            "give the parameter a default, or run the experiment with its own `arun`",
        )
    named = inspect.signature(function).parameters
    return {name: value for name, value in known.items() if name in named}


def _rows(experiment: PythonExperiment, module: Any, request: RunRequest) -> Iterable[Any]:
    found = {each.name for each in findings_in_file(experiment.file).datasets}
    name = _PREFERRED if _PREFERRED in found else next(iter(sorted(found)), None)
    if name is not None:
        made = getattr(module, name, None)
        try:
            return made() if inspect.isroutine(made) else made or ()
        except Exception as error:
            if isinstance(error, Failure):
                raise
            raise Failure(
                f"`{name}` cannot load the data set: {type(error).__name__}: {error}",
                FilePlace(experiment.file),
                "correct the function",
            ) from error
    prompt = Path(request.prompt)
    template = Template(source_of(str(prompt), read_text(str(prompt)) or ""))
    own = list((template.declarations.settings.experiments or {}).values())
    project = find_project(prompt)
    shared = list(project.settings.experiments.values())
    if own or shared:
        path = prompt.parent / own[0].dataset if own else project.root / shared[0].dataset
        return (dict(row.values) for row in open_dataset(path).rows())
    raise WrongUse(
        f"nothing says which data set the experiment `{experiment.name}` is run on",
        FilePlace(experiment.file, experiment.line),
        "write a function `load_dataset()` in the file, which gives a `Dataset`",
    )
