"""Let a judge check an aspect of the response: polite, harmless, to the point.

The option `definition` is a yes-or-no question, or a statement that is true or false.
The judge sees the response and, if the dataset has them, the columns `user_input`, `reference` and
`retrieved_contexts`. With `repeats: 3`, the judge is asked three times and the majority counts.

```yaml
metrics:
  polite:
    use: aspect_critic
    definition: Is the response polite to the customer?
    model: openai:gpt-4.1-mini
```

In these examples, `judge` is the answer of the judge.

| response | definition | judge | score |
| --- | --- | --- | --- |
| `Gladly!` | `Is it polite?` | `{reason: It is friendly., verdict: true}` | `pass` |
| `No.` | `Is it polite?` | `{reason: It is short., verdict: false}` | `fail` |
| `No.` | `Is it polite?` | `I will not say.` | no score |
"""

from __future__ import annotations

from promptls.metrics.grading import Judge, material_of, voted
from promptls.metrics.metric import discrete_metric
from promptls.metrics.result import MetricResult


@discrete_metric()
async def aspect_critic(
    *,
    response: str,
    judge: Judge,
    definition: str,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
    """Return `pass` if the judge finds that the response has the aspect described by `definition`."""
    material = material_of(user_input, retrieved_contexts, reference, response)
    task = f"{definition}\nThe verdict is true where the answer is yes, and false where it is no."
    verdict, reason = await voted(judge, task, material, repeats)
    return MetricResult(None if verdict is None else ("pass" if verdict else "fail"), reason)
