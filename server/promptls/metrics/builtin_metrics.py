"""The built-in metrics by name."""

from __future__ import annotations

from inspect import getdoc
from typing import Final

from promptls.metrics.builtin_judged import (
    aspect_critic,
    instance_rubrics,
    multi_modal_faithfulness,
    multi_modal_relevance,
    rubrics,
    simple_criteria,
)
from promptls.metrics.builtin_structure import (
    cost,
    json_field_match,
    json_validity,
    latency,
    schema_validity,
    set_f1,
    set_match,
    total_tokens,
)
from promptls.metrics.builtin_text import (
    bleu,
    chrf,
    exact_match,
    regex_match,
    rouge,
    semantic_similarity,
    string_presence,
    string_similarity,
)
from promptls.metrics.metric import Metric
from promptls.metrics.ragas_metrics import BUILTIN_RAGAS_METRICS, RAGAS_CALLS, RAGAS_PAGES

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
    return getdoc(BUILTIN_METRICS[name].function) or ""


def judge_calls(metric: Metric, ready: str) -> int:
    """Return the approximate number of judge calls per row of a metric based on the built-in `ready`."""
    if ready in RAGAS_CALLS:
        return RAGAS_CALLS[ready]
    repeats = metric.options.get("repeats", 1)
    return repeats if isinstance(repeats, int) else 1
