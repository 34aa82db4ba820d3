"""The built-in metrics by name."""

from __future__ import annotations

import sys
from typing import Final

from promptls.metrics.builtin.aspect_critic import aspect_critic
from promptls.metrics.builtin.bleu import bleu
from promptls.metrics.builtin.chrf import chrf
from promptls.metrics.builtin.cost import cost
from promptls.metrics.builtin.exact_match import exact_match
from promptls.metrics.builtin.instance_rubrics import instance_rubrics
from promptls.metrics.builtin.json_field_match import json_field_match
from promptls.metrics.builtin.json_validity import json_validity
from promptls.metrics.builtin.latency import latency
from promptls.metrics.builtin.multi_modal_faithfulness import multi_modal_faithfulness
from promptls.metrics.builtin.multi_modal_relevance import multi_modal_relevance
from promptls.metrics.builtin.regex_match import regex_match
from promptls.metrics.builtin.rouge import rouge
from promptls.metrics.builtin.rubrics import rubrics
from promptls.metrics.builtin.schema_validity import schema_validity
from promptls.metrics.builtin.semantic_similarity import semantic_similarity
from promptls.metrics.builtin.set_f1 import set_f1
from promptls.metrics.builtin.set_match import set_match
from promptls.metrics.builtin.simple_criteria import simple_criteria
from promptls.metrics.builtin.string_presence import string_presence
from promptls.metrics.builtin.string_similarity import string_similarity
from promptls.metrics.builtin.total_tokens import total_tokens
from promptls.metrics.metric import Metric
from promptls.metrics.ragas.registry import BUILTIN_RAGAS_METRICS, RAGAS_CALLS, RAGAS_PAGES

OWN_METRICS: Final[dict[str, Metric]] = {
    metric.name: metric
    for metric in (
        exact_match,
        string_presence,
        regex_match,
        set_match,
        set_f1,
        json_validity,
        schema_validity,
        json_field_match,
        string_similarity,
        bleu,
        chrf,
        rouge,
        semantic_similarity,
        latency,
        total_tokens,
        cost,
        aspect_critic,
        simple_criteria,
        rubrics,
        instance_rubrics,
        multi_modal_faithfulness,
        multi_modal_relevance,
    )
}
"""The metrics implemented by promptls, in the order of the documentation."""

BUILTIN_METRICS: Final[dict[str, Metric]] = {**OWN_METRICS, **BUILTIN_RAGAS_METRICS}
"""All built-in metrics; those of Ragas come last."""


def page_of_metric(name: str) -> str:
    """Return the documentation page of a built-in metric, in Markdown."""
    if name in RAGAS_PAGES:
        return RAGAS_PAGES[name]
    return (sys.modules[BUILTIN_METRICS[name].function.__module__].__doc__ or "").strip()


def judge_calls(metric: Metric, ready: str) -> int:
    """Return the approximate number of judge calls per row of a metric based on the built-in `ready`."""
    if ready in RAGAS_CALLS:
        return RAGAS_CALLS[ready]
    repeats = metric.options.get("repeats", 1)
    return repeats if isinstance(repeats, int) else 1
