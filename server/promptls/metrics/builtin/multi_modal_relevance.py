"""Whether the response answers the question in line with texts and images of the contexts.

The judge sees the texts and images among the `retrieved_contexts`. Contexts that are an address of an image
(`https://….png`, `data:image/…`) or the path of an image file are shown as images, which needs a judge
behind an API like that of OpenAI that takes images. With `repeats: 3`, the judge is asked three times and
the majority counts.

In these examples, `judge` is the answer of the judge.

| user_input | response | retrieved_contexts | judge | score |
| --- | --- | --- | --- | --- |
| `What is shown?` | `A cat.` | `https://example.org/cat.png` | `{reason: A cat., verdict: true}` | `1.0` |
| `What is shown?` | `A dog.` | `https://example.org/cat.png` | `{reason: A cat., verdict: false}` | `0.0` |
"""

from __future__ import annotations

from typing import Final

from promptls.metrics.grading import Judge, supported
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult
from promptls.metrics.values import context_texts

_TASK: Final = (
    "Does the response answer the question of the user in line with the contexts, texts and "
    "images together? The verdict is true if it does."
)


@numeric_metric()
async def multi_modal_relevance(
    *,
    user_input: object,
    response: str,
    retrieved_contexts: object,
    judge: Judge,
    repeats: int = 1,
) -> MetricResult:
    """Return 1.0 if the response is in line with question and contexts, else 0.0."""
    return await supported(
        judge,
        _TASK,
        {"user_input": user_input, "response": response},
        context_texts(retrieved_contexts),
        repeats,
    )
