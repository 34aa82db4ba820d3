"""Similarity of the response and the expected text, from 0 to 1.

The option `method` is `levenshtein` (default: changed, added and removed characters),
`damerau_levenshtein` (a swap of two characters counts once), `indel`, `jaro`, `jaro_winkler`,
`hamming` or `tokens` (words in any order). Source: the package rapidfuzz.

| response | expected | score |
| --- | --- | --- |
| `kitten` | `kitten` | `1` |
| `sitting` | `kitten` | `0.571` |

| response | expected | method | score |
| --- | --- | --- | --- |
| `teh` | `the` | `damerau_levenshtein` | `0.667` |
| `the blue car` | `car the blue` | `tokens` | `1` |
| `abc` | `abc` | `soundex` | no score |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import needed


@numeric_metric()
def string_similarity(response: str, expected: object, method: str = "levenshtein") -> MetricResult:
    """Return the normalized similarity of the two texts, from 0 to 1."""
    methods = _methods()
    if method not in methods:
        return MetricResult(None, f"there is no method `{method}`: choose {', '.join(methods)}")
    return MetricResult(methods[method](response.strip(), str(expected).strip()), f"{method} similarity")


def _methods() -> dict[str, Callable[[str, str], float]]:
    distance: Any = needed("rapidfuzz.distance")
    fuzz: Any = needed("rapidfuzz.fuzz")
    return {
        "levenshtein": distance.Levenshtein.normalized_similarity,
        "damerau_levenshtein": distance.DamerauLevenshtein.normalized_similarity,
        "indel": distance.Indel.normalized_similarity,
        "jaro": distance.Jaro.normalized_similarity,
        "jaro_winkler": distance.JaroWinkler.normalized_similarity,
        "hamming": distance.Hamming.normalized_similarity,
        "tokens": lambda one, other: fuzz.token_sort_ratio(one, other) / 100,
    }
