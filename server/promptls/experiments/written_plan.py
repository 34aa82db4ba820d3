"""What a run of a written experiment on a prompt would do: which function, which rows, which arguments."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.definition import prompt_stem
from promptls.experiments.failing_choice import failing_choice
from promptls.experiments.find_run import find_interrupted, find_run
from promptls.experiments.journal import read_header
from promptls.experiments.manifest import manifest_of
from promptls.experiments.request import RunRequest
from promptls.experiments.row_choice import ALL_ROWS, FAILING, RowChoice, parse_rows
from promptls.experiments.written_module import loaded_module, value_of
from promptls.experiments.written_rows import FileRows, WrittenRows
from promptls.meaning.template import Template
from promptls.metrics.metric import Metric
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.disk import read_text, source_of
from promptls.workspace.project_settings import ProjectFile, find_project
from promptls.workspace.python_experiments import experiments_for, findings_in_file, scanned_experiments
from promptls.workspace.python_findings import PythonExperiment, PythonFindings

# Files and folders that are looked at where there is no project.
_MOST_STEPS = 1000

_PREFERRED = "load_dataset"
_MODEL_PARAMETERS = ("model", "model_name")
_NAME_PARAMETER = "experiment_name"
_SEED_PARAMETER = "seed"


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A function and everything that it is called with; nothing is called yet."""

    experiment: PythonExperiment
    prompt: Path
    function: Callable[..., Any]
    model: Any
    """The pydantic model of the results; None where there is none."""
    rows: WrittenRows
    arguments: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    """The metrics whose scores the results hold, by the column."""
    asked_model: str
    """The model that the function was told to ask; the experiment's name where it is not told."""
    told_model: str | None = None
    """The model that the function was told to ask, by whoever runs it or by the project."""
    repeats: int = 1
    """How often the function is called with each row."""

    def arguments_of(self, repeat: int) -> dict[str, Any]:
        """What the function is called with beside a row; with a seed, each repeat has the next one."""
        arguments = dict(self.arguments)
        if isinstance(seed := arguments.get(_SEED_PARAMETER), int):
            arguments[_SEED_PARAMETER] = seed + repeat - 1
        return arguments

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

    It is named by its name or as `file.py:name`, or is that of a run that is to be gone on with or whose
    failed rows are to be asked again. Python files are read, and not run. Raises WrongUse for a file without
    such an experiment.
    """
    if request.resume is not None:
        journal = find_interrupted(request.resume)
        return _again(request, read_header(journal) or {}, journal.absolute().parent)
    if request.retry_errors is not None:
        run = find_run(request.retry_errors)
        return _again(request, manifest_of(run.manifest), run.manifest.absolute().parent)
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
    offered = {each.name: each for each in _offered(prompt, project, name)}
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


def _offered(prompt: Path, project: ProjectFile, name: str) -> list[PythonExperiment]:
    """The experiments of Python files that may be run on the prompt.

    Without a project, nobody says how far the folders reach: those beside the prompt come first, and around
    its folder only so many are looked at.
    """
    is_bounded = project.path is not None
    roots = [project.root] if is_bounded else [prompt.parent, prompt.parent.parent]
    scanned: dict[str, PythonFindings] = {}
    for root in roots:
        for _ in islice(scanned_experiments([str(root)], scanned), None if is_bounded else _MOST_STEPS):
            pass
        found = experiments_for(scanned, str(prompt))
        if any(each.name == name for each in found):
            return list(found)
    return list(experiments_for(scanned, str(prompt)))


def _again(request: RunRequest, header: Mapping[str, Any], folder: Path) -> WrittenRequest | None:
    """The request for a former run of an experiment in Python, with its model, its seed and its rows."""
    written_in = header.get("written_in")
    if not isinstance(written_in, str):
        return None
    settings = header["settings"]
    model = settings.get("model")
    again = replace(
        request,
        prompt=os.path.normpath(folder / header["prompt"]),
        experiment=header["experiment"],
        models=[model] if model else [],
        seed=settings.get("seed"),
        repeats=settings.get("repeats"),
        rows=(header.get("dataset") or {}).get("rows"),
    )
    path = Path(os.path.normpath(folder / written_in))
    return WrittenRequest(again, _in_file(path, header["experiment"]))


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
    return WrittenPlan(
        experiment,
        prompt,
        function,
        getattr(made, "experiment_model", None),
        WrittenRows(_rows(experiment, module, request), _choice(experiment, request)),
        arguments,
        metrics,
        told or experiment.name,
        told,
        request.repeats or 1,
    )


def _choice(experiment: PythonExperiment, request: RunRequest) -> RowChoice:
    if request.rows is None:
        return ALL_ROWS
    if str(request.rows) == FAILING:
        return failing_choice(Path(request.prompt), experiment.name)
    return parse_rows(str(request.rows))


def _check_options(experiment: PythonExperiment, request: RunRequest) -> None:
    """Raises WrongUse for what only an experiment that a prompt declares can be asked."""
    place = FilePlace(experiment.file, experiment.line)
    if request.engine == "ray" or request.ray_address is not None:
        raise WrongUse(
            f"the experiment `{experiment.name}` is a Python function, which no Ray cluster is asked for",
            place,
            "use Ray inside the function, or let the prompt declare the experiment",
        )
    if request.leave_one_out:
        raise WrongUse(
            f"the experiment `{experiment.name}` is a Python function, whose prompts cannot be changed",
            place,
            "choose an experiment that the prompt declares",
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
    if request.seed is not None:
        known[_SEED_PARAMETER] = request.seed
    missing = sorted(experiment.required - known.keys())
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise WrongUse(
            f"nothing says what {listed} of the experiment `{experiment.name}` is",
            FilePlace(experiment.file, experiment.line),
            "give the parameter a default, or run the experiment with its own `arun`",
        )
    named = inspect.signature(function).parameters
    if request.seed is not None and _SEED_PARAMETER not in named:
        raise WrongUse(
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
        return FileRows(path)
    raise WrongUse(
        f"nothing says which data set the experiment `{experiment.name}` is run on",
        FilePlace(experiment.file, experiment.line),
        "write a function `load_dataset()` in the file, which gives a `Dataset`",
    )
