"""How much of the expected text the response covers: ROUGE, from 0 to 1.

The option `kind` is `rougeL` (the default: the longest common subsequence), `rouge1` or `rouge2`;
`measure` is `fmeasure` (the default), `precision` or `recall`. Source: Lin, ROUGE (2004), by the
package rouge-score, without stemming.

| response | expected | score |
| --- | --- | --- |
| `the cat sat` | `the cat sat` | `1` |
| `the cat` | `the cat sat` | `0.8` |

| response | expected | kind | measure | score |
| --- | --- | --- | --- | --- |
| `the cat` | `the cat sat` | `rouge1` | `recall` | `0.667` |
"""

from __future__ import annotations

from typing import Any

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.extra import needed
from promptls.metrics.result import MetricResult
from promptls.metrics.values import texts_of

_KINDS = ("rougeL", "rouge1", "rouge2")
_MEASURES = ("fmeasure", "precision", "recall")


@numeric_metric()
def rouge(response: str, expected: object, kind: str = "rougeL", measure: str = "fmeasure") -> MetricResult:
    """The best ROUGE score of the response over the references, from 0 to 1."""
    if kind not in _KINDS:
        return MetricResult(None, f"there is no kind `{kind}`: choose {', '.join(_KINDS)}")
    if measure not in _MEASURES:
        return MetricResult(None, f"there is no measure `{measure}`: choose {', '.join(_MEASURES)}")
    scorer: Any = needed("rouge_score.rouge_scorer").RougeScorer([kind])
    scores = [getattr(scorer.score(text, response)[kind], measure) for text in texts_of(expected)]
    return MetricResult(float(max(scores)), f"{measure} of {kind}")
