"""Loading metrics by name, and binding their parameters to the values of a row."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from promptls.metrics.builtin_metrics import BUILTIN_METRICS
from promptls.metrics.grading import MODEL_PARAMETERS
from promptls.metrics.metric import Metric, signature_of
from promptls.security.files import is_file, names_in
from promptls.settings.header import NamedMetric
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean, nearest


def load_metric(name: str, root: Path, named: Mapping[str, NamedMetric] | None = None) -> Metric:
    """Return the metric `name`, one of `named` or any other; a file's path is relative to `root`.

    An undecorated function becomes a numeric metric without limits; an object of another library must have
    a method `score`. Raises `UsageError` for a file or a name that does not exist, `UserError` for a file
    that cannot be executed.
    """
    if named and name in named:
        return _with_options(name, named[name], load_metric(named[name].use, root))
    file, colon, attribute = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        if name in BUILTIN_METRICS:
            return BUILTIN_METRICS[name]
        known = in_code(BUILTIN_METRICS)
        near = nearest(name, [*BUILTIN_METRICS, *(named or ())])
        hint = f"did you mean `{near}`? " if near else ""
        raise UsageError(
            f"there is no metric `{name}`",
            remedy=f"{hint}the built-in metrics are {known}; name your own as `file.py:function`",
        )
    path = root / file
    found = getattr(_module(path, name), attribute, None)
    if found is None:
        near = nearest(attribute, _metric_names(_module(path, name)))
        raise UsageError(
            f"the file has no metric `{attribute}`",
            FilePlace(path),
            f"did you mean `{near}`?" if near else f"write a function `{attribute}` in it",
        )
    return _as_metric(found, attribute, path)


def _missing_module(name: str) -> str:
    """Return the remedy for a user's file that imports the missing module `name`."""
    if name.partition(".")[0] == "ragas":
        return (
            '`pip install "promptls[ragas]"`, or take the same names from promptls: '
            "`from promptls import Dataset, MetricResult, discrete_metric, experiment`"
        )
    return f"install the package that has the module `{name}` beside promptls, or correct the import"


def _with_options(name: str, chosen: NamedMetric, metric: Metric) -> Metric:
    parameters = metric_parameters(metric)
    known = [*parameters.required, *parameters.optional]
    for option in {**chosen.options, **chosen.columns}:
        if option not in known and not parameters.takes_any:
            near = nearest(option, known)
            raise UsageError(
                f"the metric `{name}` has an option `{option}`, which `{chosen.use}` does not take",
                remedy=f"did you mean `{near}`?" if near else f"it takes {in_code(known)}",
            )
    return replace(metric, name=name, options=chosen.options, columns=chosen.columns, judge=chosen.model)


class Parameters(NamedTuple):
    """The names of a function's parameters; `takes_any` is set if it accepts arbitrary keyword arguments."""

    required: list[str]
    optional: list[str]
    takes_any: bool


def metric_parameters(metric: Metric) -> Parameters:
    """Return the parameters of the metric's function."""
    required: list[str] = []
    optional: list[str] = []
    takes_any = False
    for parameter in signature_of(metric.function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            (required if parameter.default is parameter.empty else optional).append(parameter.name)
    return Parameters(required, optional, takes_any)


def _module(path: Path, metric: str) -> ModuleType:
    if not is_file(path):
        others = [name for name in names_in(path.parent) if name.endswith(".py")]
        near = nearest(path.name, others)
        raise UsageError(
            f"the file of the metric `{metric}` does not exist",
            FilePlace(path),
            f"did you mean `{near}`?" if near else "check the path; it is read from the prompt file's folder",
        )
    return loaded_module(path, f"the file of the metric `{metric}`")


def loaded_module(path: Path, subject: str, *, before_others: bool = False) -> ModuleType:
    """Import the user's file as a module, once; raises UserError about the `subject` if that fails.

    Modules next to the file can be imported by name, as when the file is run as a script; with
    `before_others`, also those that have the name of an installed one.
    """
    # The path's digest distinguishes files with the same name in different folders.
    name = f"_promptls_file_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0 if before_others else len(sys.path), folder)
    sys.modules[name] = module
    writes_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # leave no `__pycache__` beside the user's files
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # user code may raise anything
        del sys.modules[name]
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        raise UserError(
            f"{subject} cannot be run: {type(error).__name__}: {error}",
            FilePlace(path, _line_in(path, error)),
            _missing_module(missing) if missing else "correct the file; `python` on it shows the same error",
        ) from error
    finally:
        sys.dont_write_bytecode = writes_bytecode
    return module


def _line_in(path: Path, error: BaseException) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno - 1 if error.lineno else None
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == path and frame.lineno
    ]
    return lines[-1] - 1 if lines else None


def _metric_names(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, Metric) or hasattr(value, "score") or inspect.isfunction(value)
    ]


def _as_metric(found: Any, attribute: str, path: Path) -> Metric:
    if isinstance(found, Metric):
        return found
    if inspect.isfunction(found):
        return Metric(attribute, "numeric", None, found)
    if callable(getattr(found, "score", None)) and not inspect.isclass(found):
        return _foreign_metric(found, attribute)
    raise UsageError(
        f"`{attribute}` is not a metric",
        FilePlace(path),
        "decorate a function with `discrete_metric`, `numeric_metric` or `ranking_metric` from promptls",
    )


def _foreign_metric(found: Any, attribute: str) -> Metric:
    """Adapt a metric object of another library, such as Ragas."""
    allowed = getattr(found, "allowed_values", None)
    asynchronous = callable(getattr(found, "ascore", None))
    score = found.ascore if asynchronous else found.score
    # Ragas stores the decorated function there, which has the names of the parameters.
    named = getattr(found, "_func", None) or score

    async def awaited(**arguments: Any) -> Any:
        return await score(**arguments)

    def called(**arguments: Any) -> Any:
        return score(**arguments)

    chosen: Any = awaited if asynchronous else called
    # Read by `inspect`; otherwise, every foreign metric would appear to accept any arguments.
    chosen.__signature__ = inspect.signature(named)
    name = str(getattr(found, "name", None) or attribute)
    # Ragas distinguishes the kinds by the Python type of the allowed values.
    if isinstance(allowed, list):
        return Metric(name, "discrete", allowed, chosen)
    if isinstance(allowed, int):
        return Metric(name, "ranking", allowed, chosen)
    return Metric(name, "numeric", allowed if isinstance(allowed, tuple | range) else None, chosen)


RESPONSE_NAMES = ("response", "prediction", "predicted")
REFERENCE_NAMES = ("expected", "reference")
ANSWER_NAMES = ("seconds", "tokens", "cost", "output_schema")
"""The properties of an answer that metrics can use; `cost` is in US dollars."""
EXPECTED_PREFIX = "expected_"


def check_binding(metric: Metric, columns: Sequence[str], output_key: str | None) -> None:
    """Raise `UsageError` if a row with `columns` cannot provide a required parameter of `metric`."""
    for parameter in metric_parameters(metric).required:
        if takes_model(metric, parameter):
            continue
        name = metric.columns.get(parameter, parameter)
        if parameter not in metric.options and _source(name, columns, output_key) is None:
            column_name = name.removeprefix(EXPECTED_PREFIX)
            raise UsageError(
                f"the metric `{metric.name}` needs `{name}`, and the dataset has no such column"
                f"{did_you_mean(column_name, columns).rstrip('?')}",
                remedy=f"the columns are {in_code(columns)}; name the parameter after one of them "
                "(`expected_<column>` works too), or `response`, or give it a default",
            )


def takes_model(metric: Metric, parameter: str) -> bool:
    """Return whether the parameter is a judge or an embedder, and not bound to a column by `columns`."""
    return (
        parameter in MODEL_PARAMETERS and parameter not in metric.columns and parameter not in metric.options
    )


def asks_for(metric: Metric) -> tuple[str, ...]:
    """Return which of `judge` and `embedder` the metric uses."""
    parameters = metric_parameters(metric)
    return tuple(name for name in (*parameters.required, *parameters.optional) if takes_model(metric, name))


def is_bound(parameter: str, columns: Sequence[str], output_key: str | None) -> bool:
    """Return whether a row with `columns` has a value for a parameter with this name."""
    return _source(parameter, columns, output_key) is not None


def bound_arguments(
    metric: Metric,
    row: Mapping[str, Any],
    response: str,
    output_key: str | None,
    answer: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the arguments of `metric` by parameter name: its options, then the row and the response.

    `response`, `prediction` and `predicted` are the model's response; `row` is the whole row; a
    column's name, optionally with the prefix `expected_`, is its value; `expected` and `reference` are the
    column of that name or of the other name, else the column of the prompt's output key. Names in
    `ANSWER_NAMES` are values of `answer`. Judge and embedder are not among the arguments.
    """
    parameters = metric_parameters(metric)
    columns = tuple(row)
    names = [*parameters.required, *parameters.optional]
    if parameters.takes_any:
        names += ["response", *(column for column in columns if column not in names)]
    arguments: dict[str, Any] = {}
    for name in names:
        if takes_model(metric, name):
            continue
        source = _source(metric.columns.get(name, name), columns, output_key)
        if name in metric.options:
            arguments[name] = metric.options[name]
        elif source == "response":
            arguments[name] = response
        elif source == "row":
            arguments[name] = dict(row)
        elif source == "answer":
            arguments[name] = (answer or {}).get(name)
        elif source is not None:
            arguments[name] = row[source.removeprefix("column ")]
    return arguments


def _source(name: str, columns: Sequence[str], output_key: str | None) -> str | None:
    """Return `response`, `row`, `answer`, `column <name>`, or None for an unknown name."""
    if name == "response":
        return "response"
    if name in columns:
        return f"column {name}"
    if name in RESPONSE_NAMES:
        return "response"
    if name in ANSWER_NAMES:
        return "answer"
    if name == "row":
        return "row"
    if name in REFERENCE_NAMES:
        known = next((each for each in (*REFERENCE_NAMES, output_key) if each in columns), None)
        return None if known is None else f"column {known}"
    column = name.removeprefix(EXPECTED_PREFIX)
    return f"column {column}" if column != name and column in columns else None
