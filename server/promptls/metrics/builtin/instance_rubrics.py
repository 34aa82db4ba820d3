"""Let a judge grade the response by the row's own rubrics.

The column `rubrics` has a mapping, or a mapping in JSON, from grades to their meaning;
grades are written `1` or, as in Ragas, `score1_description`.
The judge sees the response and, if the dataset has them, the columns `user_input`, `reference` and
`retrieved_contexts`. With `repeats: 3`, the judge is asked three times and the median counts.

In these examples, `judge` is the answer of the judge.

| response | rubrics | judge | score |
| --- | --- | --- | --- |
| `42` | `'{"0": "wrong", "1": "it says 42"}'` | `{reason: It does., verdict: 1}` | `1` |
| `42` | `{score1_description: wrong, score2_description: right}` | `{reason: Yes., verdict: 2}` | `2` |
| `42` | `it says 42` | `{reason: It does., verdict: 2}` | no score |
"""

from __future__ import annotations

from promptls.metrics.grading import Judge, graded_by, material_of
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult


@numeric_metric(allowed_values=None)
async def instance_rubrics(
    *,
    response: str,
    judge: Judge,
    rubrics: object,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
    """Return the judge's grade according to the row's `rubrics`."""
    material = material_of(user_input, retrieved_contexts, reference, response)
    return await graded_by(judge, rubrics, material, repeats)
