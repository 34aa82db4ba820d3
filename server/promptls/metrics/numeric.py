"""Metrics whose scores are numbers, under the import path that Ragas uses."""

from promptls.metrics import NumericMetric
from promptls.metrics.metric import numeric_metric

__all__ = ["NumericMetric", "numeric_metric"]
