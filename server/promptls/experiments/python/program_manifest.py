"""Manifests for `arun` in programs, so that their results can be compared and reported."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import promptls
from promptls.datasets.backends import LocalBackend
from promptls.datasets.cells import flat_row, is_score
from promptls.experiments import manifest
from promptls.experiments.scores import RowResult, Score, Totals
from promptls.metrics.metric import Metric
from promptls.workspace.python_experiments import PROMPT_PARAMETERS, findings_in_file

MODEL_PARAMETERS: Final = ("model", "model_name")
"""The parameters that may contain the name of an experiment's model."""


def column_metric(found: Any, column: str) -> Metric | None:
    """Return a metric of promptls or Ragas, renamed to its column."""
    if isinstance(found, Metric):
        return Metric(column, found.kind, found.allowed_values, found.function, found.lower_is_better)
    allowed = getattr(found, "allowed_values", None)
    if isinstance(allowed, list):
        return Metric(column, "discrete", allowed, str)
    if isinstance(allowed, tuple | range):
        return Metric(column, "numeric", allowed, float)
    return Metric(column, "ranking", allowed, list) if isinstance(allowed, int) else None


def metric_of_value(name: str, value: Any) -> Metric:
    """Return a metric for a score whose metric is unknown."""
    if isinstance(value, list):
        return Metric(name, "ranking", None, list)
    if isinstance(value, int | float):
        return Metric(name, "numeric", None, float)
    return Metric(name, "discrete", None, str)


class Called(NamedTuple):
    """A function, and its arguments other than the rows."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]


Outcomes: TypeAlias = Sequence[tuple[Any, str | None]]
"""For each row, the result, which is a mapping or an instance of a model, and the error."""


def write_program_manifest(
    table: Path, called: Called, dataset: Any, outcomes: Outcomes, started: datetime
) -> None:
    """Write the manifest of an `arun` next to its table, so that the results can be compared and reported.

    It lists the metrics of the function's file whose scores it returns, and all other metric results.
    Nothing is written if the function has no file, as in a notebook. Raises OSError.
    """
    file = _file_of(called)
    if file is None:
        return
    folder = table.parent
    named = _named_arguments(called)
    prompt = next((path for name in PROMPT_PARAMETERS if (path := _existing(named.get(name)))), file)
    name = called.function.__name__
    model = next((str(named[each]) for each in MODEL_PARAMETERS if named.get(each)), name)
    rows = [result if isinstance(result, dict) else dict(result) for result, _ in outcomes]
    metrics = _metrics(file, called, rows)
    totals = Totals(list(metrics.values()), [model])
    for number, (row, (_, error)) in enumerate(zip(rows, outcomes, strict=True), start=1):
        totals.add(_program_result(number, row, error, model, metrics))
    begun = {
        "format": manifest.FORMAT,
        "run": table.stem,
        "experiment": name,
        **described_inputs(file, prompt, folder, _dataset_file(dataset), len(rows)),
        "models": [{"name": model}],
        "settings": {"metrics": list(metrics)},
        "git": manifest.git_state(file.parent),
        "started": started.isoformat(timespec="seconds"),
        "continues": None,
    }
    manifest.write_manifest(table.with_suffix(".json"), manifest.ended_manifest(begun, totals.summary()))


def described_inputs(
    file: Path, prompt: Path, folder: Path, dataset: Path | None, rows: int, chosen: str | None = None
) -> dict[str, Any]:
    """Return the part of a manifest about the files of an experiment in Python, its rows and versions.

    Paths are relative to `folder`; `chosen` are the rows of a partial run.
    """
    files = file_hashes((prompt, file), folder)
    return {
        "written_in": manifest.relative(file, folder),
        "prompt": manifest.relative(prompt, folder),
        "files": files,
        "prompt_hash": files[manifest.relative(prompt, folder)],
        "rendered": {"rows": rows, "failing": 0, "over_limit": 0, "tokens": 0},
        "dataset": {
            "path": manifest.relative(dataset, folder) if dataset is not None else None,
            "sha256": manifest.hash_of_file(dataset) if dataset is not None else None,
            "rows": chosen,
        },
        "versions": {"promptls": promptls.__version__, "python": platform.python_version()},
    }


def file_hashes(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return the hashes of the texts of files, by path relative to the folder."""
    return {manifest.relative(file, folder): manifest.hash_of_text_file(file) for file in files}


def _file_of(called: Called) -> Path | None:
    try:
        found = Path(inspect.getsourcefile(called.function) or "").absolute()
    except TypeError:
        return None
    return found if found.is_file() else None


def _named_arguments(called: Called) -> Mapping[str, Any]:
    """Return the arguments of each call, including defaults, by parameter name."""
    try:
        bound = inspect.signature(called.function).bind(None, *called.arguments, **called.named)
    except TypeError:
        return called.named
    bound.apply_defaults()
    return bound.arguments


def _existing(value: Any) -> Path | None:
    path = Path(value).absolute() if isinstance(value, str | Path) and value else None
    try:
        return path if path is not None and path.is_file() else None
    except (OSError, ValueError):
        return None


def _metrics(file: Path, called: Called, rows: Sequence[Mapping[str, Any]]) -> dict[str, Metric]:
    name = called.function.__name__
    found = next((each for each in findings_in_file(str(file)).experiments if each.name == name), None)
    known = getattr(called.function, "__globals__", {})
    metrics = {
        column: metric
        for column, metric_name in (found.scores.items() if found is not None else ())
        if (metric := column_metric(known.get(metric_name), column)) is not None
    }
    for row in rows:
        for column, value in row.items():
            if column not in metrics and is_score(value) and value.value is not None:
                metrics[column] = metric_of_value(column, value.value)
    return metrics


def _program_result(
    number: int, row: Mapping[str, Any], error: str | None, model: str, metrics: Mapping[str, Metric]
) -> RowResult:
    values = flat_row(row)
    scores = {
        name: Score(values[name])
        for name, metric in metrics.items()
        if name in values and (metric.kind != "numeric" or isinstance(values[name], int | float))
    }
    return RowResult(
        str(values.get("id") or number),
        number,
        number - 1,
        model,
        1,
        values,
        scores=scores if error is None else {},
        error=error,
    )


def _dataset_file(dataset: Any) -> Path | None:
    backend = getattr(dataset, "backend", None)
    if not isinstance(backend, LocalBackend):
        return None
    path = backend.path_of(dataset.name, "datasets").absolute()
    return path if path.is_file() else None
