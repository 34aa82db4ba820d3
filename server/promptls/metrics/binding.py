"""Binding the parameters of metrics to values, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptls.metrics.grading import ASKED
from promptls.metrics.loading import metric_parameters
from promptls.metrics.metric import Metric
from promptls.text.errors import UsageError
from promptls.text.suggest import did_you_mean

RESPONSE_NAMES = ("response", "prediction", "predicted")
REFERENCE_NAMES = ("expected", "reference")
ANSWER_NAMES = ("seconds", "tokens", "cost", "output_schema")
"""The properties of an answer that metrics can use; `cost` is in US dollars."""
EXPECTED_PREFIX = "expected_"


def check_binding(metric: Metric, columns: Sequence[str], output_key: str | None) -> None:
    """Raise `UsageError` if a row with `columns` cannot provide a required parameter of `metric`."""
    for parameter in metric_parameters(metric).required:
        if is_asked(metric, parameter):
            continue
        name = metric.columns.get(parameter, parameter)
        if parameter not in metric.options and _source(name, columns, output_key) is None:
            listed = ", ".join(f"`{column}`" for column in columns)
            wanted = name.removeprefix(EXPECTED_PREFIX)
            raise UsageError(
                f"the metric `{metric.name}` needs `{name}`, and the dataset has no such column"
                f"{did_you_mean(wanted, columns).rstrip('?')}",
                remedy=f"the columns are {listed}; name the parameter after one of them "
                "(`expected_<column>` works too), or `response`, or give it a default",
            )


def is_asked(metric: Metric, parameter: str) -> bool:
    """Return whether the parameter is a judge or an embedder, and not bound to a column by `columns`."""
    return parameter in ASKED and parameter not in metric.columns and parameter not in metric.options


def asks_for(metric: Metric) -> tuple[str, ...]:
    """Return which of `judge` and `embedder` the metric uses."""
    parameters = metric_parameters(metric)
    return tuple(name for name in (*parameters.required, *parameters.optional) if is_asked(metric, name))


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
    column of that name or of the other name, else the column of the prompt's output key. Judge and embedder
    are not among the arguments. From `answer`, the names
    in `ANSWER_NAMES` are available.
    """
    parameters = metric_parameters(metric)
    columns = tuple(row)
    names = [*parameters.required, *parameters.optional]
    if parameters.takes_any:
        names += ["response", *(column for column in columns if column not in names)]
    arguments: dict[str, Any] = {}
    for name in names:
        if is_asked(metric, name):
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
