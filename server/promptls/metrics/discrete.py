"""Metrics whose scores are classes, under the import path that Ragas uses."""

from typing import Any

from promptls.metrics import metric_class
from promptls.metrics.metric import discrete_metric

__all__ = ["DiscreteMetric", "discrete_metric"]  # noqa: F822 - the class is loaded on access


def __getattr__(name: str) -> Any:
    return metric_class(name, __name__)
