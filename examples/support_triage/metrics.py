"""Metrics of a triage: are the labels correct, is the priority correct?"""

import json
from typing import Any

from promptls import MetricResult, discrete_metric


@discrete_metric(name="labels_exact_match", allowed_values=["correct", "incorrect"])
def labels_exact_match(prediction: str, expected_labels: str) -> MetricResult:
    """Return whether the predicted labels are exactly the expected ones, in any order."""
    predicted = set(answer(prediction).get("labels", []))
    expected = set(expected_labels.split(";")) if expected_labels else set()
    return MetricResult(
        value="correct" if predicted == expected else "incorrect",
        reason=f"expected {sorted(expected)}, got {sorted(predicted)}",
    )


@discrete_metric(name="priority_accuracy", allowed_values=["correct", "incorrect"])
def priority_accuracy(prediction: str, expected_priority: str) -> MetricResult:
    """Return whether the predicted priority is the expected one."""
    predicted = answer(prediction).get("priority")
    return MetricResult(
        value="correct" if predicted == expected_priority else "incorrect",
        reason=f"expected {expected_priority}, got {predicted}",
    )


def answer(prediction: str) -> dict[str, Any]:
    """Return the model's answer as data; an answer that is not a JSON object is incorrect, not missing."""
    try:
        value = json.loads(prediction)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
