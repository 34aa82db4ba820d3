"""The models and metrics that experiments name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.features.completion.item import Item
from promptls.features.completion.paths import file_paths
from promptls.features.completion.request import Request
from promptls.rules.facts.named_metrics import taken_by
from promptls.workspace.python_names import functions_in

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric

_MOST_PYTHON_FILES: Final = 20


def model_items(request: Request) -> Iterator[Item]:
    """The models that an experiment or a metric may name."""
    from promptls.models.registry import PROVIDERS
    from promptls.models.weights import LOCAL_MODELS

    settings = request.snapshot.project(request.path).settings
    for name, model in settings.models.items():
        yield Item(name, "constant", 10, detail=f"{model.provider}: {model.model}")
    for name in LOCAL_MODELS:
        yield Item(f"local:{name}", "constant", 20, detail="on this machine")
    for name in request.snapshot.editor_models:
        yield Item(f"vscode:{name}", "constant", 25, detail="of the editor")
    for index, provider in enumerate(PROVIDERS):
        if provider == "echo":
            yield Item("echo", "constant", 40, detail="for tests")
        elif provider != "local":
            yield Item(f"{provider}:", "constant", 30 + index, detail="provider")


def metric_items(request: Request) -> Iterator[Item]:
    """What an experiment may name: metrics with options, those of Python files, ready ones."""
    for name, metric in named_metrics(request).items():
        yield Item(name, "function", 5, detail=f"{metric.use}, with options")
    yield from used_metric_items(request)


def named_metrics(request: Request) -> dict[str, NamedMetric]:
    """The metrics with options of the file and its project."""
    own = request.declarations.settings.metrics or {}
    return {**own, **request.snapshot.project(request.path).settings.metrics}


def metric_options(request: Request, name: str) -> Mapping[str, str]:
    """The options that the metric with this name may be given, each with its default in words."""
    metric = named_metrics(request).get(name)
    taken = taken_by(metric.use, Path(request.path).parent) if metric is not None else None
    needed = dict.fromkeys(taken.required, "needed") if taken else {}
    return {**needed, **dict.fromkeys(taken.optional if taken else (), "option")}


def used_metric_items(request: Request) -> Iterator[Item]:
    """What a metric with options may use: metrics of Python files, and ready ones."""
    from promptls.metrics.registry import READY_METRICS

    folder = Path(request.path).parent
    for index, item in enumerate(file_paths(str(folder), (".py",))):
        if index >= _MOST_PYTHON_FILES:
            break
        functions = functions_in(str(folder / item.label)) or ()
        metrics = [each for each in functions if any(name.endswith("_metric") for name in each.decorators)]
        for function in metrics:
            yield Item(f"{item.label}:{function.name}", "function", 10, detail="metric")
    for name in READY_METRICS:
        yield Item(name, "function", 20, detail="ready")


def metric_documentation(request: Request, name: str) -> str:
    """What a metric measures, in Markdown; empty where it does not say."""
    from promptls.metrics.registry import READY_METRICS, page_of_metric

    named = named_metrics(request).get(name)
    name = named.use if named is not None else name
    if name in READY_METRICS:
        return page_of_metric(name)
    file, _, attribute = name.rpartition(":")
    functions = functions_in(str(Path(request.path).parent / file)) or () if file.endswith(".py") else ()
    return next((each.documentation for each in functions if each.name == attribute), "")
