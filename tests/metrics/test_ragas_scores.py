"""Metrics with the same name or class as in Ragas: the same scores."""

from __future__ import annotations

from typing import Any

import pytest

from oracle import recorded
from promptls.metrics.builtin_metrics import BUILTIN_METRICS

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "bleu": ("bleu", {}),
    "rougeL": ("rouge", {}),
    "rougeL precision": ("rouge", {"measure": "precision"}),
    "rouge1": ("rouge", {"kind": "rouge1"}),
    "rouge1 recall": ("rouge", {"kind": "rouge1", "measure": "recall"}),
    "chrf": ("chrf", {}),
    "exact_match": ("exact_match", {}),
    "string_presence": ("string_presence", {}),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("case", recorded.parameters("ragas_metrics"))
def test_a_ready_metric_gives_the_number_of_ragas(case: dict[str, Any], name: str) -> None:
    metric, options = OPTIONS[name]
    texts = case["texts"]
    value = (
        BUILTIN_METRICS[metric]
        .score(response=texts["response"], expected=texts["reference"], **options)
        .value
    )
    number = {"pass": 1.0, "fail": 0.0}.get(value, value)
    assert number == pytest.approx(case["expected"][name]["value"], abs=1e-8)
