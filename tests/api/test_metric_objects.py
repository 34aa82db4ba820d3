"""Metrics as objects with a judge, samples, and `evaluate`."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

import promptls
from oracle import recorded
from promptls.llms import LangchainLLMWrapper, llm_factory
from promptls.messages import AIMessage, HumanMessage, ToolCall
from promptls.metrics import (
    AspectCritic,
    BleuScore,
    ChrfScore,
    DiscreteMetric,
    ExactMatch,
    FactualCorrectness,
    NonLLMStringSimilarity,
    NumericMetric,
    RankingMetric,
    RougeScore,
    SemanticSimilarity,
    StringPresence,
    aggregate,
    discrete_metric,
)
from promptls.text.errors import UsageError, UserError

OBJECTS = {
    "bleu": BleuScore(),
    "rougeL": RougeScore(),
    "rougeL precision": RougeScore(mode="precision"),
    "rouge1": RougeScore(rouge_type="rouge1"),
    "rouge1 recall": RougeScore(rouge_type="rouge1", mode="recall"),
    "chrf": ChrfScore(),
    "exact_match": ExactMatch(),
    "string_presence": StringPresence(),
    "levenshtein": NonLLMStringSimilarity(),
    "hamming": NonLLMStringSimilarity(distance_measure="hamming"),
    "jaro": NonLLMStringSimilarity(distance_measure="jaro"),
    "jaro_winkler": NonLLMStringSimilarity(distance_measure="jaro_winkler"),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("case", recorded.parameters("ragas_metrics"))
def test_the_class_gives_the_number_of_ragas(case: dict[str, Any], name: str) -> None:
    result = asyncio.run(OBJECTS[name].ascore(**case["texts"]))
    assert result.value == pytest.approx(case["expected"][name]["value"], abs=1e-8)


class FakeJudge:
    """A judge that returns these texts in order, and records its requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [each if isinstance(each, str) else json.dumps(each) for each in answers]
        self.questions: list[str] = []

    async def ask(self, messages: Any, *, json_schema: Any, sample: int = 1) -> str:
        del json_schema, sample
        self.questions.append(messages[-1]["content"])
        return self.answers.pop(0)


def test_a_discrete_metric_asks_with_its_own_prompt() -> None:
    metric = DiscreteMetric(name="tone", prompt="Is “{response}” kind?", allowed_values=["kind", "rude"])
    judge = FakeJudge({"reason": "It greets.", "value": "kind"})
    result = asyncio.run(metric.ascore(llm=judge, response="Hello!"))
    assert (result.value, result.reason) == ("kind", "It greets.")
    assert judge.questions == ["Is “Hello!” kind?"]


def test_an_answer_that_is_no_verdict_is_asked_for_again() -> None:
    metric = DiscreteMetric(
        name="tone", prompt="{response}?", llm=FakeJudge("no", {"reason": "", "value": "pass"})
    )
    assert metric.score(response="a").value == "pass"
    stubborn = DiscreteMetric(name="tone", prompt="{response}?", llm=FakeJudge("no", "never"))
    result = stubborn.score(response="a")
    assert result.value is None
    assert "gave no verdict" in str(result.reason)


def test_numbers_and_rankings_are_asked_for_as_well() -> None:
    number = NumericMetric(
        name="n", prompt="{a}", allowed_values=(1, 5), llm=FakeJudge({"reason": "", "value": 4})
    )
    ranking = RankingMetric(name="r", prompt="{a}", llm=FakeJudge({"reason": "", "value": [1, 0]}))
    assert number.score(a="x").value == 4
    assert ranking.score(a="x").value == [1, 0]


def test_a_judge_may_be_a_function() -> None:
    metric = DiscreteMetric(name="tone", prompt="{response}?")
    assert metric.score(llm=lambda _text: '{"reason": "", "value": "fail"}', response="a").value == "fail"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_judge_may_be_asked_through_a_client(is_async: bool) -> None:
    sent: list[dict[str, Any]] = []

    class Completions:
        def create(self, **request: Any) -> Any:
            sent.append(request)
            message = SimpleNamespace(content='{"reason": "", "value": "fail"}')
            made = SimpleNamespace(choices=[SimpleNamespace(message=message)])
            return asyncio.sleep(0, made) if is_async else made

    client = SimpleNamespace(chat=SimpleNamespace(completions=Completions()))
    judge = llm_factory("gpt-4o", client=client, temperature=0)
    metric = DiscreteMetric(name="tone", prompt="{response}?")
    assert metric.score(llm=judge, response="a").value == "fail"
    assert (sent[0]["model"], sent[0]["temperature"]) == ("gpt-4o", 0)
    assert sent[0]["messages"][-1] == {"role": "user", "content": "a?"}


def test_a_client_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no `chat\.completions\.create`"):
        llm_factory("claude-sonnet-4-5", provider="anthropic", client=object())


def test_a_langchain_model_may_be_wrapped() -> None:
    model = SimpleNamespace(invoke=lambda _text: '{"reason": "", "value": "pass"}')
    metric = DiscreteMetric(name="tone", prompt="{response}?")
    assert metric.score(llm=LangchainLLMWrapper(model), response="a").value == "pass"


def test_a_metric_without_a_judge_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMPTLS_JUDGE", raising=False)
    with pytest.raises(UsageError) as caught:
        DiscreteMetric(name="a", prompt="{response}").score(response="b")
    assert "llm=" in str(caught.value.remedy)
    monkeypatch.setenv("PROMPTLS_JUDGE", "echo")
    assert DiscreteMetric(name="a", prompt="{response}").score(response="b").value is None


def test_a_missing_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        DiscreteMetric(name="a", prompt="{response}").score(llm=FakeJudge())


def test_a_ready_metric_is_scored_inline() -> None:
    critic = AspectCritic(llm=FakeJudge({"reason": "Friendly.", "verdict": True}), definition="Is it polite?")
    sample = promptls.SingleTurnSample(user_input="Hi", response="Hello!")
    assert asyncio.run(critic.single_turn_ascore(sample)) == 1


def test_a_score_that_is_missing_is_a_failure_of_a_sample() -> None:
    critic = AspectCritic(llm=FakeJudge("no", "no"), definition="Is it polite?")
    with pytest.raises(UserError):
        critic.single_turn_score(promptls.SingleTurnSample(response="Hello!"))


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no `moed`, did you mean `mode`|no `moed`"):
        FactualCorrectness(moed="recall")


def test_embeddings_may_be_those_of_another_library() -> None:
    class Vectors:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, float("b" in text)] for text in texts]

    metric = SemanticSimilarity(embeddings=Vectors())
    assert metric.score(response="a", reference="b").value == pytest.approx(0.7071, abs=1e-4)


def test_evaluate_scores_all_samples_by_all_metrics() -> None:
    rows = [
        {"user_input": "a", "response": "Paris", "reference": "Paris", "further": 1},
        {"user_input": "b", "response": "Rome", "reference": "Paris"},
    ]
    dataset = promptls.EvaluationDataset.from_list(rows)

    @discrete_metric(name="short", allowed_values=["yes", "no"])
    def short(response: str) -> str:
        return "yes" if len(response) < 5 else "no"

    result = promptls.evaluate(dataset, metrics=[ExactMatch(), short])
    assert result["exact_match"] == [1.0, 0.0]
    assert result.scores == [{"exact_match": 1.0, "short": "no"}, {"exact_match": 0.0, "short": "yes"}]
    assert result.aggregate() == {"exact_match": 0.5, "short": "no"}
    assert result.aggregate({"exact_match": "sum", "short": "count"}) == {"exact_match": 1.0, "short": 2}
    assert list(result.to_pandas().columns) == ["user_input", "response", "reference", "exact_match", "short"]
    assert repr(result) == "{'exact_match': 0.5000, 'short': 'no'}"


def test_a_result_without_any_score_shows_the_reason() -> None:
    critic = AspectCritic(llm=FakeJudge("no", "no"), definition="Is it polite?")
    result = promptls.evaluate([{"response": "Hello!"}], metrics=[critic])
    assert repr(result).startswith("{'aspect_critic': None (the judge gave no verdict")


def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(UsageError, match="`ExactMatch` is a class"):
        promptls.evaluate([{"response": "a"}], metrics=[ExactMatch])


def test_a_conversation_is_a_sample() -> None:
    sample = promptls.MultiTurnSample(
        user_input=[
            HumanMessage(content="Book a table."),
            AIMessage(content="", tool_calls=[ToolCall(name="book", args={"seats": 2})]),
        ],
        reference="A table is booked.",
    )
    arguments = FactualCorrectness().arguments_of(sample)
    assert arguments == {"reference": "A table is booked.", "response": ""}
    assert "book(" in sample.pretty_repr()
    with pytest.raises(ValueError, match="one kind"):
        promptls.EvaluationDataset([sample, {"user_input": "a"}])


@pytest.mark.parametrize(
    ("how", "expected"), [("mean", 2.0), ("median", 1), ("mode", 1), ("sum", 6), ("max", 4), ("count", 3)]
)
def test_results_have_other_aggregations_than_the_mean(how: str, expected: float) -> None:
    results = [promptls.MetricResult(1), promptls.MetricResult(None, "failed"), 1, 4]
    assert aggregate(results, how) == expected


def test_classes_have_a_mode_and_no_mean() -> None:
    assert aggregate(["a", "b", "b"], "mode") == "b"
    with pytest.raises(UsageError):
        aggregate(["a", "b"], "mean")
    with pytest.raises(UsageError, match="median"):
        aggregate([1], "medain")
