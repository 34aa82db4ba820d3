"""chrF of the response, from 0 to 1: character sequences shared with the expected text.

Source: Popović, chrF (2015), computed by the package sacrebleu and scaled to 0 to 1. With the option
`words: 2`, word pairs count too (chrF++). A list gives several references.

| response | expected | score |
| --- | --- | --- |
| `the cat sat` | `the cat sat` | `1` |
| `the cats sat` | `the cat sat` | `0.748` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import needed, texts_of


@numeric_metric()
def chrf(response: str, expected: object, words: int = 0) -> MetricResult:
    """Return the chrF of the response, from 0 to 1."""
    sacrebleu: Any = needed("sacrebleu")
    found = sacrebleu.sentence_chrf(response, texts_of(expected), word_order=words)
    return MetricResult(min(found.score / 100, 1.0), str(found))
