from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import pytest

from promptls import MetricResult, discrete_metric, numeric_metric, ranking_metric


def test_the_discrete_metric_of_the_documentation_works() -> None:
    @discrete_metric(name="response_quality", allowed_values=["pass", "fail"])
    def my_metric(predicted: str, expected: str) -> str:
        return "pass" if predicted.lower() == expected.lower() else "fail"

    assert my_metric.name == "response_quality"
    assert my_metric.score(predicted="A", expected="a") == MetricResult("pass")


def test_the_numeric_metric_of_the_documentation_works() -> None:
    @numeric_metric(name="response_accuracy", allowed_values=(0, 1))
    def my_metric(predicted: float, expected: float) -> float:
        return abs(predicted - expected) / max(expected, 1e-5)

    assert my_metric.score(predicted=0.8, expected=1.0).value == pytest.approx(0.2)


def test_the_documents_ranking_metric_gives_its_ranked_list() -> None:
    @ranking_metric(name="response_ranking", allowed_values=[0, 1])
    def my_metric(responses: list) -> list:
        lengths = [len(response) for response in responses]
        return sorted(range(len(lengths)), key=lambda index: lengths[index])

    result = my_metric.score(responses=["short", "a bit longer", "the longest response"])
    assert result.value == [0, 1, 2]


@pytest.mark.parametrize(
    ("metric", "value", "reason"),
    [
        (
            discrete_metric(allowed_values=["a", "b"]),
            "c",
            "Metric m returned 'c' but expected one of ['a', 'b']",
        ),
        (
            numeric_metric(allowed_values=(0, 1)),
            2,
            "Metric m returned '2' but expected value in range (0, 1)",
        ),
        (numeric_metric(allowed_values=range(3)), 2.5, "expected value in range range(0, 3)"),
        (numeric_metric(), "x", "Metric m returned 'x' but expected a numeric value"),
        (numeric_metric(allowed_values=None), float("nan"), "in range None"),
        (ranking_metric(allowed_values=2), [0, 1, 2], "returned list of length 3 but expected 2 items"),
        (ranking_metric(), "x", "expected a list"),
    ],
)
def test_a_value_that_is_not_allowed_gives_no_score_and_a_reason(
    metric: Any, value: Any, reason: str
) -> None:
    def m() -> object:
        return value

    result = metric(m).score()
    assert result.value is None
    assert reason in result.reason


def test_an_exception_gives_no_score_and_a_reason() -> None:
    @discrete_metric()
    def broken(response: str) -> str:
        raise KeyError(response)

    result = broken.score(response="labels")
    assert result.value is None
    assert result.reason == "Error executing metric broken: KeyError: 'labels'"


def test_wrong_arguments_are_a_type_error() -> None:
    @discrete_metric()
    def metric(response: str) -> str:
        return response

    with pytest.raises(TypeError, match="missing a required argument: 'response'"):
        metric.score()


def test_calling_a_metric_runs_its_function() -> None:
    @numeric_metric()
    def half(value: float) -> float:
        return value / 2

    assert half(4) == 2


def test_an_asynchronous_metric_can_be_scored_without_a_loop() -> None:
    @numeric_metric()
    async def slow() -> float:
        await asyncio.sleep(0)
        return 0.5

    assert slow.score().value == 0.5


async def test_a_blocking_metric_does_not_block_the_event_loop() -> None:
    go_on = threading.Event()

    @numeric_metric()
    def blocking() -> float:
        go_on.wait(10)
        return 1.0

    scored = asyncio.create_task(blocking.ascore())
    await asyncio.sleep(0)
    go_on.set()
    assert (await scored).value == 1.0


async def test_an_exception_in_a_thread_is_a_reason_too() -> None:
    @numeric_metric()
    def broken() -> float:
        return next(iter(()))

    assert "StopIteration" in (await broken.ascore()).reason


def test_arguments_without_names_are_refused_with_the_call_as_it_should_be() -> None:
    @discrete_metric(name="same")
    def same(prediction: str, expected: str) -> str:
        return "pass" if prediction == expected else "fail"

    with pytest.raises(TypeError, match=re.escape("score(prediction='a', expected='b')")):
        same.score("a", "b")
    with pytest.raises(TypeError, match="missing a required argument: 'expected'"):
        same.score(prediction="a")


def test_arguments_that_a_metric_does_not_take_are_left_out_with_a_warning() -> None:
    @discrete_metric()
    def same(prediction: str) -> str:
        return "pass"

    with pytest.warns(UserWarning, match="takes no `llm`"):
        assert same.score(prediction="a", llm=None) == "pass"


async def test_several_sets_of_arguments_are_scored_in_their_order() -> None:
    @numeric_metric(allowed_values=(0, 10))
    async def length(text: str) -> int:
        return len(text)

    inputs = [{"text": "a"}, {"text": "abc"}, {"text": "x" * 11}]
    assert [result.value for result in await length.abatch_score(inputs)] == [1, 3, None]


def test_a_result_counts_and_compares_as_its_value() -> None:
    half, word, ranked = MetricResult(0.5, "why"), MetricResult("pass"), MetricResult([2, 0, 1])
    assert (half + 1, 1 - half, half * half, half / 2, float(half)) == (1.5, 0.5, 0.25, 0.25, 0.5)
    assert half < 1
    assert half >= MetricResult(0.5)
    assert word == "pass"
    assert word != "fail"
    assert list(ranked) == [2, 0, 1]
    assert (ranked[0], len(ranked)) == (2, 3)
    # In Ragas, a result without a value has no truth at all.
    assert not MetricResult(None, "no answer")
    assert not MetricResult(0.0)
    assert half.to_dict() == {"result": 0.5, "reason": "why"}
