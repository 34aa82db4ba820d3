"""ROUGE of the response, from 0 to 1: how much of the expected text it covers.

The option `kind` is `rougeL` (default: the longest common subsequence), `rouge1` or `rouge2`;
`measure` is `fmeasure` (default), `precision` or `recall`. Words are sequences of the letters a to z and
digits; case is ignored. Words of more than three letters are compared by their stem, as in Ragas;
`stem: false` turns that off. Source: Lin, ROUGE (2004), same scores as the package rouge-score with the
Porter stemmer of nltk.

| response | expected | score |
| --- | --- | --- |
| `the cat sat` | `the cat sat` | `1` |
| `the cat` | `the cat sat` | `0.8` |
| `the cats running` | `the cat runs` | `1` |

| response | expected | kind | measure | score |
| --- | --- | --- | --- | --- |
| `the cat` | `the cat sat` | `rouge1` | `recall` | `0.667` |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import needed, texts_of

_KINDS = ("rougeL", "rouge1", "rouge2")
_SHORT = 3
_MEASURES = ("fmeasure", "precision", "recall")


@numeric_metric()
def rouge(
    response: str, expected: object, kind: str = "rougeL", measure: str = "fmeasure", stem: bool = True
) -> MetricResult:
    """Return the best ROUGE score of the response over the references, from 0 to 1."""
    if kind not in _KINDS:
        return MetricResult(None, f"there is no kind `{kind}`: choose {', '.join(_KINDS)}")
    if measure not in _MEASURES:
        return MetricResult(None, f"there is no measure `{measure}`: choose {', '.join(_MEASURES)}")
    said = _words(response, stem)
    scores = [_score(_words(text, stem), said, kind)[measure] for text in texts_of(expected)]
    return MetricResult(float(max(scores)), f"{measure} of {kind}")


def _words(text: str, stem: bool) -> list[str]:
    words = re.findall("[a-z0-9]+", text.lower())
    if not stem:
        return words
    stemmer: Any = _stemmer()
    # rouge-score does not stem short words.
    return [stemmer.stem(word) if len(word) > _SHORT else word for word in words]


@lru_cache(maxsize=1)
def _stemmer() -> object:
    made: object = needed("nltk.stem.porter").PorterStemmer()
    return made


def _score(expected: Sequence[str], said: Sequence[str], kind: str) -> dict[str, float]:
    """Return precision, recall and F-measure of the common subsequence, words, or word pairs."""
    if kind == "rougeL":
        sequences: Any = needed("rapidfuzz.distance").LCSseq
        common, wanted, given = sequences.similarity(expected, said), len(expected), len(said)
    else:
        length = int(kind.removeprefix("rouge"))
        grams, others = _grams(expected, length), _grams(said, length)
        common, wanted, given = (grams & others).total(), grams.total(), others.total()
    precision, recall = common / max(given, 1), common / max(wanted, 1)
    fmeasure = 2 * precision * recall / (precision + recall) if common else 0.0
    return {"fmeasure": fmeasure, "precision": precision, "recall": recall}


def _grams(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(length)), strict=False))
