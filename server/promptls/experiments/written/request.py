"""Which experiment in Python a request is for, found by reading Python files, and not by running them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.find_run import find_interrupted, find_run
from promptls.experiments.journal import read_header
from promptls.experiments.manifest import manifest_of
from promptls.experiments.request import RunRequest
from promptls.meaning.template import Template
from promptls.text.failure import FilePlace, WrongUse
from promptls.text.nearest import did_you_mean
from promptls.workspace.disk import read_text, source_of
from promptls.workspace.project_settings import ProjectFile, find_project
from promptls.workspace.python_experiments import experiments_for, findings_in_file, scanned_experiments
from promptls.workspace.python_findings import PythonExperiment, PythonFindings

# Files and folders that are looked at where there is no project.
_MOST_STEPS = 1000

# Experiments that are named where there are several to choose from.
_SHOWN = 4


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
    if not request.prompt:
        return None
    prompt = Path(request.prompt)
    name = request.experiment
    if name is None:
        _check_declared(prompt, request.unsaved)
        return None
    file, colon, function = name.rpartition(":")
    if colon and file.endswith(".py"):
        return WrittenRequest(request, _in_file((prompt.parent / file).resolve(), function))
    project = find_project(prompt)
    declared = _declared(prompt, request.unsaved)
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


def _declared(prompt: Path, unsaved: Mapping[str, str]) -> Mapping[str, Any]:
    """The experiments in the prompt's header."""
    text = unsaved.get(str(prompt)) or read_text(str(prompt)) or ""
    return Template(source_of(str(prompt), text)).declarations.settings.experiments or {}


def _check_declared(prompt: Path, unsaved: Mapping[str, str]) -> None:
    """Raises WrongUse where a prompt declares no experiment, and Python files have some for it."""
    project = find_project(prompt)
    if not prompt.is_file() or project.settings.experiments or _declared(prompt, unsaved):
        return
    offered = [each.name for each in _offered(prompt, project, "")]
    if offered:
        raise WrongUse(
            "the prompt declares no experiment, and Python files have some for it",
            FilePlace(prompt),
            f"name one: {' or '.join(f'`--experiment {name}`' for name in offered[:_SHOWN])}, "
            "or declare one in the header, as `promptls run --help` shows",
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
        # A run on a cluster goes on there, unless somebody says otherwise.
        engine=request.engine or settings.get("engine"),
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
