"""Whether texts and images of the retrieved contexts support the response.

The judge sees the texts and images among the `retrieved_contexts`. Contexts that are an address of an image
(`https://….png`, `data:image/…`) or the path of an image file are shown as images, which needs a judge
behind an API like that of OpenAI that takes images. With `repeats: 3`, the judge is asked three times and
the majority counts.

In these examples, `judge` is the answer of the judge.

| response | retrieved_contexts | judge | score |
| --- | --- | --- | --- |
| `A cat.` | `https://example.org/cat.png` | `{reason: It shows a cat., verdict: true}` | `1.0` |
| `A dog.` | `https://example.org/cat.png` | `{reason: It shows a cat., verdict: false}` | `0.0` |
"""

from __future__ import annotations

from typing import Final

from promptls.metrics.grading import Judge, supported
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import context_texts

_TASK: Final = (
    "Do the contexts, texts and images together, support everything that the response says? The "
    "verdict is true if they do, and false if the response says anything that they do not hold."
)


@numeric_metric()
async def multi_modal_faithfulness(
    *,
    response: str,
    retrieved_contexts: object,
    judge: Judge,
    repeats: int = 1,
) -> MetricResult:
    """Return 1.0 if the contexts support the response, else 0.0."""
    return await supported(judge, _TASK, {"response": response}, context_texts(retrieved_contexts), repeats)
