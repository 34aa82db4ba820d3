"""Metrics: functions that score a response and give the reason.

For programs: the decorators, `aggregate`, and the metric classes under Ragas's names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

OF_METRIC = frozenset(
    {"Metric", "MetricResult", "aggregate", "discrete_metric", "numeric_metric", "ranking_metric"}
)
"""The names of `promptls.metrics.metric` that this package exports."""
# Imported by name: the classes use models, which this lower layer must not depend on.
_CLASSES = "promptls.api.metric_objects"


def __getattr__(name: str) -> Any:
    if name in OF_METRIC:
        return getattr(import_module("promptls.metrics.metric"), name)
    if name[:1].isupper():
        return metric_class(name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def metric_class(name: str, module: str) -> Any:
    """Return the metric class with this name; raises AttributeError for `module` if it does not exist."""
    classes: dict[str, Any] = import_module(_CLASSES).METRIC_CLASSES
    if name not in classes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return classes[name]
