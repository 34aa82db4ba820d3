"""Metrics: functions that score a response and give the reason.

For programs: the decorators, `aggregate`, and the metric classes under Ragas's names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "discrete_metric": "promptls.metrics.metric",
    "numeric_metric": "promptls.metrics.metric",
    "ranking_metric": "promptls.metrics.metric",
    "Metric": "promptls.metrics.metric",
    "MetricResult": "promptls.metrics.metric",
    "aggregate": "promptls.metrics.metric",
}
# Imported by name: the classes use models, which this lower layer must not depend on.
_CLASSES = "promptls.api.metric_objects"


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name[:1].isupper():
        return metric_class(name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def metric_class(name: str, module: str) -> Any:
    """Return the metric class with this name; raises AttributeError for `module` if it does not exist."""
    classes: dict[str, Any] = import_module(_CLASSES).METRIC_CLASSES
    if name not in classes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return classes[name]
