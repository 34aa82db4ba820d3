"""`evaluate`, in the module that Ragas has it in."""

from promptls.api.evaluating import EvaluationResult, aevaluate, evaluate

__all__ = ["EvaluationResult", "aevaluate", "evaluate"]
