"""The result of a metric, under the import path that Ragas uses."""

from promptls.metrics.metric import MetricResult

__all__ = ["MetricResult"]
