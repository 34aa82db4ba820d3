"""The built-in metrics by name."""

from __future__ import annotations

from inspect import getdoc
from typing import Final

from promptls.metrics import builtin_judged, builtin_structure, builtin_text
from promptls.metrics.metric import Metric
from promptls.metrics.ragas_metrics import BUILTIN_RAGAS_METRICS, RAGAS_CALLS, RAGAS_PAGES

OWN_METRICS: Final[dict[str, Metric]] = {
    metric.name: metric
    for metric in (
        builtin_text.exact_match,
        builtin_text.string_presence,
        builtin_text.regex_match,
        builtin_structure.set_match,
        builtin_structure.set_f1,
        builtin_structure.json_validity,
        builtin_structure.schema_validity,
        builtin_structure.json_field_match,
        builtin_text.string_similarity,
        builtin_text.bleu,
        builtin_text.chrf,
        builtin_text.rouge,
        builtin_text.semantic_similarity,
        builtin_structure.latency,
        builtin_structure.total_tokens,
        builtin_structure.cost,
        builtin_judged.aspect_critic,
        builtin_judged.simple_criteria,
        builtin_judged.rubrics,
        builtin_judged.instance_rubrics,
        builtin_judged.multi_modal_faithfulness,
        builtin_judged.multi_modal_relevance,
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
