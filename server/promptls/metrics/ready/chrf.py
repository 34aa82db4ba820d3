"""How many letter sequences the response shares with the expected text: chrF, from 0 to 1.

Source: Popović, chrF (2015), by the package sacrebleu, whose 0 to 100 is divided by 100. The option
`words: 2` counts word pairs too (chrF++). A list gives several references.

| response | expected | score |
| --- | --- | --- |
| `the cat sat` | `the cat sat` | `1` |
| `the cats sat` | `the cat sat` | `0.748` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.extra import needed
from promptls.metrics.result import MetricResult
from promptls.metrics.values import texts_of


@numeric_metric()
def chrf(response: str, expected: object, words: int = 0) -> MetricResult:
    """The chrF of the response, from 0 to 1."""
    sacrebleu: Any = needed("sacrebleu")
    found = sacrebleu.sentence_chrf(response, texts_of(expected), word_order=words)
    return MetricResult(min(found.score / 100, 1.0), str(found))
