"""Samples and datasets of them, in the module that Ragas has them in."""

from promptls.api.evaluating import EvaluationResult
from promptls.api.ragas_samples import EvaluationDataset, MultiTurnSample, SingleTurnSample

__all__ = ["EvaluationDataset", "EvaluationResult", "MultiTurnSample", "SingleTurnSample"]
