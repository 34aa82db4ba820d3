"""Let a judge grade the response by rubrics that define each grade.

The option `rubrics` is a mapping; grades are written `1` or, as in Ragas, `score1_description`.
The judge sees the response and, if the dataset has them, the columns `user_input`, `reference` and
`retrieved_contexts`. With `repeats: 3`, the judge is asked three times and the median counts.

```yaml
metrics:
  helpful:
    use: rubrics
    rubrics:
      1: The response does not touch the question.
      2: It answers in part.
      3: It answers all of it, and says what to do next.
```

In these examples, `judge` is the answer of the judge.

| response | rubrics | judge | score |
| --- | --- | --- | --- |
| `Restart it.` | `{1: no help, 2: some, 3: all}` | `{reason: No next step., verdict: 2}` | `2` |
| `Restart it.` | `{low: no help}` | `{reason: No next step., verdict: 2}` | no score |
"""

from __future__ import annotations

from promptls.metrics.grading import Judge, graded_by, material_of
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult


@numeric_metric(allowed_values=None)
async def rubrics(
    *,
    response: str,
    judge: Judge,
    rubrics: object,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
    """Return the judge's grade according to `rubrics`, which are the same for every row."""
    material = material_of(user_input, retrieved_contexts, reference, response)
    return await graded_by(judge, rubrics, material, repeats)
