"""Metrics whose scores are classes, under the import path that Ragas uses."""

from promptls.metrics import DiscreteMetric
from promptls.metrics.metric import discrete_metric

__all__ = ["DiscreteMetric", "discrete_metric"]
