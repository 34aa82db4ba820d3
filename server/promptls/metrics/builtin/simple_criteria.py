"""Let a judge grade the response by one criterion, from 1 to 5.

The option `definition` says what earns a high grade. `lowest` and `highest` change the range.
The judge sees the response and, if the dataset has them, the columns `user_input`, `reference` and
`retrieved_contexts`. With `repeats: 3`, the judge is asked three times and the median counts.

```yaml
metrics:
  concise:
    use: simple_criteria
    definition: How concise is the response, without leaving out what the customer needs?
```

In these examples, `judge` is the answer of the judge.

| response | definition | judge | score |
| --- | --- | --- | --- |
| `Yes.` | `How concise is it?` | `{reason: One word., verdict: 5}` | `5` |
| `Yes.` | `How concise is it?` | `{reason: One word., verdict: 9}` | no score |

| response | definition | highest | judge | score |
| --- | --- | --- | --- | --- |
| `Yes.` | `How concise is it?` | `10` | `{reason: One word., verdict: 9}` | `9` |
"""

from __future__ import annotations

from promptls.metrics.grading import Judge, graded, material_of
from promptls.metrics.metric import numeric_metric
from promptls.metrics.result import MetricResult


@numeric_metric(allowed_values=None)
async def simple_criteria(  # noqa: PLR0913 - each is a separate column or option
    *,
    response: str,
    judge: Judge,
    definition: str,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    lowest: int = 1,
    highest: int = 5,
    repeats: int = 1,
) -> MetricResult:
    """Return the judge's grade for the criterion `definition`, from `lowest` to `highest`."""
    if not lowest < highest:
        return MetricResult(None, f"`lowest` ({lowest}) has to be less than `highest` ({highest})")
    material = material_of(user_input, retrieved_contexts, reference, response)
    task = f"{definition}\nThe verdict is a grade from {lowest} (worst) to {highest} (best)."
    return await graded(judge, task, material, (lowest, highest), repeats)
