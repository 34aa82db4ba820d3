"""Metrics whose scores are rankings, under the import path that Ragas uses."""

from promptls.metrics import RankingMetric
from promptls.metrics.metric import ranking_metric

__all__ = ["RankingMetric", "ranking_metric"]
