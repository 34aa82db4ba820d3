"""Finding the code-defined experiment of a request, by parsing Python files without executing them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.access import Access
from promptls.experiments.named_runs import former_run
from promptls.experiments.run_protocol import RunRequest
from promptls.models.model import ModelReference
from promptls.models.model_names import find_model
from promptls.security.files import join_path
from promptls.semantic.template import Template
from promptls.text.errors import FilePlace, UsageError
from promptls.text.suggest import did_you_mean
from promptls.workspace import python_experiments
from promptls.workspace.disk import scan_python, source_of, text_on_disk
from promptls.workspace.settings import ProjectFile, find_project

_MAX_STEPS = 1000
"""Maximum number of files and folders that are searched without a project."""

_SHOWN = 4
"""Maximum number of experiments that are listed to choose from."""


class PythonRequest(NamedTuple):
    """A request for a code-defined experiment, and the experiment."""

    request: RunRequest
    experiment: python_experiments.PythonExperiment


def python_request(request: RunRequest) -> PythonRequest | None:
    """Return the code-defined experiment of a request.

    None if the request is for an experiment declared by a prompt.

    It is specified by its name or as `file.py:name`, or is that of a run to resume or to
    retry. Python files are parsed, not executed. Raises UsageError for a
    file without such an experiment.
    """
    former = former_run(request)
    if former is not None:
        file, header = former
        return _again(request, header, file.parent)
    if not request.prompt:
        return None
    prompt = Path(request.prompt)
    name = request.experiment
    if name is None:
        _check_declared(prompt, request.unsaved)
        return None
    program, colon, function = name.rpartition(":")
    if colon and program.endswith(".py"):
        return PythonRequest(request, _in_file(join_path(prompt.parent, program), function))
    project = find_project(prompt)
    declared = _declared(prompt, request.unsaved)
    if name in declared or name in project.settings.experiments:
        return None
    offered = {each.name: each for each in _offered(prompt, project, name)}
    if name in offered:
        return PythonRequest(request, offered[name])
    known = [*declared, *project.settings.experiments, *offered]
    if not offered:
        return None  # resolved, or reported as an error, by the prompt's declarations
    raise UsageError(
        f"the prompt has no experiment `{name}`{did_you_mean(name, known)}",
        FilePlace(prompt),
        f"its experiments are {', '.join(f'`{each}`' for each in known)}",
    )


def _declared(prompt: Path, unsaved: Mapping[str, str]) -> Mapping[str, Any]:
    text = unsaved.get(str(prompt)) or text_on_disk(str(prompt)) or ""
    return Template(source_of(str(prompt), text)).declarations.settings.experiments


def _check_declared(prompt: Path, unsaved: Mapping[str, str]) -> None:
    """Raise UsageError if a prompt declares no experiment, but Python files define some for it."""
    project = find_project(prompt)
    if not prompt.is_file() or project.settings.experiments or _declared(prompt, unsaved):
        return
    offered = [each.name for each in _offered(prompt, project, "")]
    if offered:
        raise UsageError(
            "the prompt declares no experiment, but Python files have some for it",
            FilePlace(prompt),
            f"name one: {' or '.join(f'`--experiment {name}`' for name in offered[:_SHOWN])}, "
            "or declare one in the header, as `promptls run --help` shows",
        )


def _offered(prompt: Path, project: ProjectFile, name: str) -> list[python_experiments.PythonExperiment]:
    """Return the experiments in Python files that can be run on the prompt.

    Without a project, the search is not limited to a root folder: the prompt's folder is searched first, and
    only a limited number of folders around it.
    """
    is_bounded = project.path is not None
    roots = [project.root] if is_bounded else [prompt.parent, prompt.parent.parent]
    scanned: dict[str, python_experiments.PythonFindings] = {}
    for root in roots:
        scan = scan_python(python_experiments.findings_in_file, [str(root)], scanned)
        for _ in islice(scan, None if is_bounded else _MAX_STEPS):
            pass
        found = python_experiments.experiments_for(scanned, str(prompt))
        if any(each.name == name for each in found):
            return list(found)
    return list(python_experiments.experiments_for(scanned, str(prompt)))


def _again(request: RunRequest, header: Mapping[str, Any], folder: Path) -> PythonRequest | None:
    """Return the request for an earlier run of a code-defined experiment, with its model, seed and rows."""
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
        rows=None if request.complete else (header.get("dataset") or {}).get("rows"),
        # A run on a cluster is continued there by default.
        engine=request.engine or settings.get("engine"),
    )
    path = Path(os.path.normpath(folder / written_in))
    return PythonRequest(again, _in_file(path, header["experiment"]))


def _in_file(path: Path, name: str) -> python_experiments.PythonExperiment:
    found = {each.name: each for each in python_experiments.findings_in_file(str(path)).experiments}
    if name not in found:
        raise UsageError(
            f"the file has no experiment `{name}`{did_you_mean(name, found)}",
            FilePlace(path),
            "an experiment is a function under `@experiment()`",
        )
    return found[name]


def python_access(code_defined: PythonRequest) -> Access:
    """Return the variables that the experiment's function may read: those of its models and its project."""
    request = code_defined.request
    project = find_project(Path(request.prompt))
    settings = project.settings
    names = [*request.models, settings.default_model, settings.judge, *settings.models]
    references: list[ModelReference] = []
    for name in dict.fromkeys(filter(None, names)):
        with suppress(UsageError):  # a name that is only known to the function
            references.append(find_model(name, settings.models, project.root))
    engine = request.engine or ("ray" if request.ray_address else settings.engine)
    on_ray = engine == "ray" and not request.ray_address
    return Access(project, tuple(references), settings.ray.address if on_ray else None, opens_models=False)
