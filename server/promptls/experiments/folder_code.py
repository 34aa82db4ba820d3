"""The files and models of a folder that a run executes or uses, for the question whether to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from promptls.experiments.definition import define_experiment
from promptls.experiments.experiment import Experiment
from promptls.experiments.judging import possible_models
from promptls.experiments.named_runs import former_run
from promptls.experiments.python.request import python_request
from promptls.experiments.run_protocol import RunRequest
from promptls.models.model_names import LOCAL_EMBEDDINGS
from promptls.models.weights import LOCAL_MODELS
from promptls.security.files import join_path
from promptls.security.trust import FolderCode
from promptls.workspace.settings import folder_to_trust

_BUILT_IN: Final = frozenset({"echo", LOCAL_EMBEDDINGS, *(f"local:{name}" for name in LOCAL_MODELS)})
"""Names of models that need nothing of a folder; no project can redefine them."""


def folders_of_run(request: RunRequest) -> tuple[Path, ...]:
    """Return the folders that must be trusted: those of the prompt, the Python file and the earlier run.

    Raises UsageError if an earlier run or a Python file does not exist.
    """
    return tuple(dict.fromkeys(map(folder_to_trust, files_of_run(request))))


def code_of_run(request: RunRequest) -> FolderCode:
    """Return the Python files and the models in its folders that the run uses.

    Models that promptls brings along are not among them, so that a run may need no trust.
    Raises UsageError and UserError if the experiment cannot be run.
    """
    code_defined = python_request(request)
    if code_defined is not None:
        return FolderCode((Path(code_defined.experiment.file).name,), tuple(request.models))
    former = former_run(request)
    engine = request.engine
    if former is not None:
        file, header = former
        engine = engine or header["settings"].get("engine")
        names = [each.get("name") for each in header.get("models") or () if isinstance(each, dict)]
        request = replace(
            request,
            prompt=str(_prompt_of(file, header)),
            experiment=str(header.get("experiment")),
            models=[name for name in names if isinstance(name, str)],
        )
    experiment = define_experiment(
        Path(request.prompt),
        request.experiment,
        unsaved=request.unsaved,
        models=request.models,
        models_base=Path(request.models_base) if request.models_base else None,
    )
    models = dict.fromkeys(model.name for model in possible_models(experiment))
    if experiment.evaluation is None and (engine or experiment.engine) != "ray":
        models = dict.fromkeys(name for name in models if name not in _BUILT_IN)
    python = dict.fromkeys(_python_of(experiment))
    return FolderCode(tuple(python), tuple(models))


def _python_of(experiment: Experiment) -> Iterator[str]:
    if experiment.functions is not None:
        yield experiment.functions.name
    for name in experiment.metrics:
        named = experiment.named_metrics.get(name)
        file, _, _ = (named.use if named is not None else name).rpartition(":")
        if file.endswith(".py"):
            yield Path(file).name


def files_of_run(request: RunRequest) -> Iterator[Path]:
    """Yield the prompt, the Python file and the earlier run that the request refers to; raises UsageError."""
    if request.prompt:
        yield Path(request.prompt)
    former = former_run(request)
    if former is not None:
        file, header = former
        yield file
        yield _prompt_of(file, header)
    code_defined = python_request(request)
    if code_defined is not None:
        yield Path(code_defined.experiment.file)


def prompt_of_run(request: RunRequest) -> tuple[str, str | None]:
    """Return the prompt and the experiment of a run; those of a resumed or retried run are in its files."""
    former = former_run(request)
    if former is None:
        return request.prompt, request.experiment
    file, header = former
    return str(_prompt_of(file, header)), header.get("experiment")


def _prompt_of(file: Path, header: Mapping[str, Any]) -> Path:
    return join_path(file.parent, str(header.get("prompt")))
