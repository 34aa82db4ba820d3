"""How many word sequences the response shares with the expected text: sentence BLEU, from 0 to 1.

Source: Papineni et al., BLEU (2002), with the exponential smoothing of the package sacrebleu, whose
0 to 100 is divided by 100. A list gives several references.

| response | expected | score |
| --- | --- | --- |
| `the cat sat on the mat` | `the cat sat on the mat` | `1` |
| `the cat sat on a mat` | `the cat sat on the mat` | `0.537` |
| `dogs bark` | `the cat sat on the mat` | `0` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.extra import needed
from promptls.metrics.result import MetricResult
from promptls.metrics.values import texts_of


@numeric_metric()
def bleu(response: str, expected: object) -> MetricResult:
    """Sentence BLEU of the response, from 0 to 1."""
    sacrebleu: Any = needed("sacrebleu")
    found = sacrebleu.sentence_bleu(response, texts_of(expected))
    return MetricResult(min(found.score / 100, 1.0), str(found))
