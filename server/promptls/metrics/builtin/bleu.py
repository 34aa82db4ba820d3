"""BLEU of the response as Ragas computes it, from 0 to 1: word sequences shared with the expected text.

Both texts are split at `. ` into sentences, which the package sacrebleu compares as a corpus; its score is
scaled to 0 to 1. The best of several references counts. Source: Papineni et al., BLEU (2002); Ragas 0.4.3.

| response | expected | score |
| --- | --- | --- |
| `the cat sat on the mat` | `the cat sat on the mat` | `1` |
| `the cat sat on a mat` | `the cat sat on the mat` | `0.537` |
| `dogs bark` | `the cat sat on the mat` | `0` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import needed, texts_of


@numeric_metric()
def bleu(response: str, expected: object) -> MetricResult:
    """Return the best BLEU of the response over the references, from 0 to 1."""
    sacrebleu: Any = needed("sacrebleu")
    said = response.split(". ")
    found = max(
        (
            # As in Ragas: each sentence of the reference is a separate list of references.
            sacrebleu.corpus_bleu(said, [[sentence] for sentence in text.split(". ")])
            for text in texts_of(expected)
        ),
        key=lambda each: float(each.score),
    )
    return MetricResult(min(found.score / 100, 1.0), str(found))
