"""Built-in metrics that ask a judge.

Their docstrings are pages of the documentation, as in `metrics/builtin_text.py`.
"""

from __future__ import annotations

from typing import Final

from promptls.metrics.grading import (
    JudgeModel,
    graded_by,
    majority_verdict,
    material_of,
    median_grade,
    support_score,
)
from promptls.metrics.metric import MetricResult, discrete_metric, numeric_metric
from promptls.metrics.values import context_texts


@discrete_metric()
async def aspect_critic(
    *,
    response: str,
    judge: JudgeModel,
    definition: str,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
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
    material = material_of(user_input, retrieved_contexts, reference, response)
    task = f"{definition}\nThe verdict is true where the answer is yes, and false where it is no."
    verdict, reason = await majority_verdict(judge, task, material, repeats)
    return MetricResult(None if verdict is None else ("pass" if verdict else "fail"), reason)


@numeric_metric(allowed_values=None)
async def simple_criteria(  # noqa: PLR0913 - each is a separate column or option
    *,
    response: str,
    judge: JudgeModel,
    definition: str,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    lowest: int = 1,
    highest: int = 5,
    repeats: int = 1,
) -> MetricResult:
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
    if not lowest < highest:
        return MetricResult(None, f"`lowest` ({lowest}) has to be less than `highest` ({highest})")
    material = material_of(user_input, retrieved_contexts, reference, response)
    task = f"{definition}\nThe verdict is a grade from {lowest} (worst) to {highest} (best)."
    return await median_grade(judge, task, material, (lowest, highest), repeats)


@numeric_metric(allowed_values=None)
async def rubrics(
    *,
    response: str,
    judge: JudgeModel,
    rubrics: object,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
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
    material = material_of(user_input, retrieved_contexts, reference, response)
    return await graded_by(judge, rubrics, material, repeats)


@numeric_metric(allowed_values=None)
async def instance_rubrics(
    *,
    response: str,
    judge: JudgeModel,
    rubrics: object,
    user_input: object = None,
    reference: object = None,
    retrieved_contexts: object = None,
    repeats: int = 1,
) -> MetricResult:
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
    material = material_of(user_input, retrieved_contexts, reference, response)
    return await graded_by(judge, rubrics, material, repeats)


_FAITHFULNESS: Final = (
    "Do the contexts, texts and images together, support everything that the response says? The "
    "verdict is true if they do, and false if the response says anything that they do not hold."
)


@numeric_metric()
async def multi_modal_faithfulness(
    *,
    response: str,
    retrieved_contexts: object,
    judge: JudgeModel,
    repeats: int = 1,
) -> MetricResult:
    """Check whether texts and images of the retrieved contexts support the response.

    The judge sees the texts and images among the `retrieved_contexts`. Contexts that are an address of an
    image (`https://….png`, `data:image/…`) or the path of an image file are shown as images, which needs a
    judge with an OpenAI-compatible API that accepts images. With `repeats: 3`, the judge is asked three
    times and the majority counts.

    In these examples, `judge` is the answer of the judge.

    | response | retrieved_contexts | judge | score |
    | --- | --- | --- | --- |
    | `A cat.` | `https://example.org/cat.png` | `{reason: It shows a cat., verdict: true}` | `1.0` |
    | `A dog.` | `https://example.org/cat.png` | `{reason: It shows a cat., verdict: false}` | `0.0` |
    """
    return await support_score(
        judge, _FAITHFULNESS, {"response": response}, context_texts(retrieved_contexts), repeats
    )


_RELEVANCE: Final = (
    "Does the response answer the question of the user in line with the contexts, texts and "
    "images together? The verdict is true if it does."
)


@numeric_metric()
async def multi_modal_relevance(
    *,
    user_input: object,
    response: str,
    retrieved_contexts: object,
    judge: JudgeModel,
    repeats: int = 1,
) -> MetricResult:
    """Check whether the response answers the question in line with texts and images of the contexts.

    The judge sees the texts and images among the `retrieved_contexts`. Contexts that are an address of an
    image (`https://….png`, `data:image/…`) or the path of an image file are shown as images, which needs a
    judge with an OpenAI-compatible API that accepts images. With `repeats: 3`, the judge is asked three
    times and the majority counts.

    In these examples, `judge` is the answer of the judge.

    | user_input | response | retrieved_contexts | judge | score |
    | --- | --- | --- | --- | --- |
    | `What is shown?` | `A cat.` | `https://example.org/a.png` | `{reason: A cat., verdict: true}` | `1.0` |
    | `What is shown?` | `A dog.` | `https://example.org/a.png` | `{reason: A cat., verdict: false}` | `0.0` |
    """
    return await support_score(
        judge,
        _RELEVANCE,
        {"user_input": user_input, "response": response},
        context_texts(retrieved_contexts),
        repeats,
    )
