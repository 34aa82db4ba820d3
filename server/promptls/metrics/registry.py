"""The ready metrics by name."""

from __future__ import annotations

from typing import Final

from promptls.metrics.metric import Metric
from promptls.metrics.ready.bleu import bleu
from promptls.metrics.ready.chrf import chrf
from promptls.metrics.ready.cost import cost
from promptls.metrics.ready.exact_match import exact_match
from promptls.metrics.ready.json_field_match import json_field_match
from promptls.metrics.ready.json_validity import json_validity
from promptls.metrics.ready.latency import latency
from promptls.metrics.ready.regex_match import regex_match
from promptls.metrics.ready.rouge import rouge
from promptls.metrics.ready.schema_validity import schema_validity
from promptls.metrics.ready.set_f1 import set_f1
from promptls.metrics.ready.set_match import set_match
from promptls.metrics.ready.string_presence import string_presence
from promptls.metrics.ready.string_similarity import string_similarity
from promptls.metrics.ready.total_tokens import total_tokens

READY_METRICS: Final[dict[str, Metric]] = {
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
        latency,
        total_tokens,
        cost,
    )
}
"""In the order of the documentation."""
