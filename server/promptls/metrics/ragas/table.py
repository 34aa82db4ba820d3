"""Which metrics Ragas has, what each needs of a row, and which options it takes.

Source: `ragas.metrics.collections` of Ragas 0.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

DOCUMENTATION: Final = "https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/"


@dataclass(frozen=True, slots=True)
class RagasMetric:
    """One metric: `kind` is its class in `ragas.metrics.collections`.

    `needs` are the parameters of its `ascore`, `may` those that it can do without; `options` are parameters
    of the class with their defaults. `calls` is about how often it asks the judge about one row.
    """

    name: str
    kind: str
    summary: str
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 1
    embeds: bool = False
    lower_is_better: bool = False
    notes: str = ""

    @property
    def asks(self) -> bool:
        """Whether it asks a judge."""
        return self.calls > 0


_QUESTION = ("user_input", "response")
_PRECISION_OR_RECALL = "`mode` is `precision`, `recall` or `f1`."
_CONVERSATION = (
    "`user_input` is a conversation: a list of messages (also in JSON), each with `role`, `content` and, "
    "where the agent calls tools, `tool_calls` with `name` and `args`; or a text, which is the user's only "
    "message. Where the agent does not have the last word in it, the response is added as that."
)
_CALLS = f"{_CONVERSATION} A response in JSON with `tool_calls`, or that is a list of calls, calls them."

RAGAS_METRICS: Final = (
    RagasMetric(
        "answer_accuracy",
        "AnswerAccuracy",
        "How far the response agrees with the reference answer to the question.",
        (*_QUESTION, "reference"),
        calls=2,
        notes="Two judgements are averaged, the second with response and reference exchanged.",
    ),
    RagasMetric(
        "answer_correctness",
        "AnswerCorrectness",
        "How correct the response is: facts in common with the reference, and likeness in meaning.",
        (*_QUESTION, "reference"),
        options={"weights": (0.75, 0.25), "beta": 1.0},
        calls=3,
        embeds=True,
        notes="`weights` are those of the facts and of the likeness.",
    ),
    RagasMetric(
        "answer_relevancy",
        "AnswerRelevancy",
        "How well the response fits the question: questions that it would answer are compared with it.",
        _QUESTION,
        options={"strictness": 3},
        calls=3,
        embeds=True,
        notes="`strictness` is how many questions are made.",
    ),
    RagasMetric(
        "context_relevance",
        "ContextRelevance",
        "How relevant the retrieved contexts are to the question.",
        ("user_input", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "context_precision",
        "ContextPrecision",
        "Whether the retrieved contexts that help to give the reference answer stand first.",
        ("user_input", "reference", "retrieved_contexts"),
        calls=3,
    ),
    RagasMetric(
        "context_precision_without_reference",
        "ContextPrecisionWithoutReference",
        "Whether the retrieved contexts that helped to give the response stand first.",
        (*_QUESTION, "retrieved_contexts"),
        calls=3,
    ),
    RagasMetric(
        "context_recall",
        "ContextRecall",
        "How much of the reference answer the retrieved contexts bear out.",
        ("user_input", "reference", "retrieved_contexts"),
    ),
    RagasMetric(
        "context_entity_recall",
        "ContextEntityRecall",
        "Which share of the people, places and things of the reference the retrieved contexts name.",
        ("reference", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "faithfulness",
        "Faithfulness",
        "Which share of what the response claims follows from the retrieved contexts.",
        (*_QUESTION, "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "response_groundedness",
        "ResponseGroundedness",
        "How far the retrieved contexts bear out the response.",
        ("response", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "noise_sensitivity",
        "NoiseSensitivity",
        "Which share of the response's claims is wrong because of what was retrieved; less is better.",
        (*_QUESTION, "reference", "retrieved_contexts"),
        options={"mode": "relevant"},
        calls=5,
        lower_is_better=True,
        notes="`mode` is `relevant` or `irrelevant`: which of the contexts led astray.",
    ),
    RagasMetric(
        "factual_correctness",
        "FactualCorrectness",
        "How far the claims of the response and those of the reference are the same.",
        ("response", "reference"),
        options={"mode": "f1", "beta": 1.0, "atomicity": "low", "coverage": "low"},
        calls=4,
        notes=f"{_PRECISION_OR_RECALL} `atomicity` and `coverage` are `low` or `high`.",
    ),
    RagasMetric(
        "summary_score",
        "SummaryScore",
        "How well the response sums up the contexts: questions about them that it answers, and its length.",
        ("reference_contexts", "response"),
        options={"length_penalty": True, "coeff": 0.5},
        calls=3,
        notes="`coeff` is the weight of the length, where `length_penalty` counts it.",
    ),
    RagasMetric(
        "topic_adherence",
        "TopicAdherence",
        "Whether the agent keeps to the topics that it is for.",
        ("user_input", "response", "reference_topics"),
        options={"mode": "f1"},
        calls=3,
        notes=f"{_PRECISION_OR_RECALL} {_CONVERSATION}",
    ),
    RagasMetric(
        "tool_call_accuracy",
        "ToolCallAccuracy",
        "Whether the agent calls the tools of the reference, with their arguments and in their order.",
        ("user_input", "response", "reference_tool_calls"),
        options={"strict_order": True},
        calls=0,
        notes=_CALLS,
    ),
    RagasMetric(
        "tool_call_f1",
        "ToolCallF1",
        "How far the tool calls of the agent and those of the reference are the same set.",
        ("user_input", "response", "reference_tool_calls"),
        calls=0,
        notes=_CALLS,
    ),
    RagasMetric(
        "agent_goal_accuracy",
        "AgentGoalAccuracyWithReference",
        "Whether the agent has reached the outcome of the reference.",
        ("user_input", "response", "reference"),
        calls=2,
        notes=_CONVERSATION,
    ),
    RagasMetric(
        "agent_goal_accuracy_without_reference",
        "AgentGoalAccuracyWithoutReference",
        "Whether the agent has reached what the user wanted.",
        _QUESTION,
        calls=2,
        notes=_CONVERSATION,
    ),
    RagasMetric(
        "sql_semantic_equivalence",
        "SQLSemanticEquivalence",
        "Whether two queries give the same rows: that of the response and that of the reference.",
        ("response", "reference"),
        may=("reference_contexts",),
        notes="`reference_contexts` are descriptions of the tables.",
    ),
    RagasMetric(
        "datacompy_score",
        "DataCompyScore",
        "How far two tables in CSV are the same: that of the response and that of the reference.",
        ("response", "reference"),
        options={"mode": "rows", "metric": "f1"},
        calls=0,
        notes="`mode` is `rows` or `columns`; `metric` is `precision`, `recall` or `f1`.",
    ),
)
