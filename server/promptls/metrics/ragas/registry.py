"""The table of Ragas metrics: their required columns and their options.

Source: `ragas.metrics.collections` of Ragas 0.4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, Final

from promptls.metrics.grading import EMBEDDER, EMBEDDINGS, JUDGE
from promptls.metrics.metric import Metric
from promptls.text.format import plural

DOCUMENTATION: Final = "https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/"


@dataclass(frozen=True, slots=True)
class RagasMetric:
    """A metric; `kind` is its class in `ragas.metrics.collections`.

    `needs` are the required parameters of its `ascore`, `may` the optional ones; `options` are parameters
    of the class with their defaults. `calls` is the approximate number of judge calls per row.
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
        """Whether it uses a judge."""
        return self.calls > 0


PROMPTS: Final = "prompts"
"""The option with instructions that override those of Ragas, by prompt name."""

_QUESTION = ("user_input", "response")
_PRECISION_OR_RECALL = "`mode` is `precision`, `recall` or `f1`."
_CONVERSATION = (
    "`user_input` is a conversation: a list of messages (or JSON), each with `role`, `content` and, if the "
    "agent calls tools, `tool_calls` with `name` and `args`; or text, which is a single user message. "
    "If the agent does not have the last message, the response is appended."
)
_CALLS = f"{_CONVERSATION} A JSON response with `tool_calls`, or a JSON list of calls, counts as tool calls."

RAGAS_METRICS: Final = (
    RagasMetric(
        "answer_accuracy",
        "AnswerAccuracy",
        "Agreement of the response with the reference answer.",
        (*_QUESTION, "reference"),
        calls=2,
        notes="The average of two judgments, the second with response and reference swapped.",
    ),
    RagasMetric(
        "answer_correctness",
        "AnswerCorrectness",
        "Correctness of the response: facts shared with the reference, and similarity in meaning.",
        (*_QUESTION, "reference"),
        options={"weights": (0.75, 0.25), "beta": 1.0},
        calls=3,
        embeds=True,
        notes="`weights` are the weights of facts and similarity.",
    ),
    RagasMetric(
        "answer_relevancy",
        "AnswerRelevancy",
        "Relevance of the response: compares the question with questions that the response would answer.",
        _QUESTION,
        options={"strictness": 3},
        calls=3,
        embeds=True,
        notes="`strictness` is the number of generated questions.",
    ),
    RagasMetric(
        "context_relevance",
        "ContextRelevance",
        "Relevance of the retrieved contexts to the question.",
        ("user_input", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "context_precision",
        "ContextPrecision",
        "Whether retrieved contexts that support the reference answer are ranked first.",
        ("user_input", "reference", "retrieved_contexts"),
        calls=3,
    ),
    RagasMetric(
        "context_precision_without_reference",
        "ContextPrecisionWithoutReference",
        "Whether retrieved contexts that support the response are ranked first.",
        (*_QUESTION, "retrieved_contexts"),
        calls=3,
    ),
    RagasMetric(
        "context_recall",
        "ContextRecall",
        "Share of the reference answer that the retrieved contexts support.",
        ("user_input", "reference", "retrieved_contexts"),
    ),
    RagasMetric(
        "context_entity_recall",
        "ContextEntityRecall",
        "Share of the reference's entities that occur in the retrieved contexts.",
        ("reference", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "faithfulness",
        "Faithfulness",
        "Share of the response's claims that follow from the retrieved contexts.",
        (*_QUESTION, "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "response_groundedness",
        "ResponseGroundedness",
        "Degree to which the retrieved contexts support the response.",
        ("response", "retrieved_contexts"),
        calls=2,
    ),
    RagasMetric(
        "noise_sensitivity",
        "NoiseSensitivity",
        "Share of the response's claims that are wrong because of retrieved contexts; less is better.",
        (*_QUESTION, "reference", "retrieved_contexts"),
        options={"mode": "relevant"},
        calls=5,
        lower_is_better=True,
        notes="`mode` is `relevant` or `irrelevant`: the contexts that cause the errors.",
    ),
    RagasMetric(
        "factual_correctness",
        "FactualCorrectness",
        "Overlap of the claims of the response and the reference.",
        ("response", "reference"),
        options={"mode": "f1", "beta": 1.0, "atomicity": "low", "coverage": "low"},
        calls=4,
        notes=f"{_PRECISION_OR_RECALL} `atomicity` and `coverage` are `low` or `high`.",
    ),
    RagasMetric(
        "summary_score",
        "SummaryScore",
        "Quality of a summary of the contexts: questions about them that it answers, and its length.",
        ("reference_contexts", "response"),
        options={"length_penalty": True, "coeff": 0.5},
        calls=3,
        notes="`coeff` is the weight of the length if `length_penalty` is set.",
    ),
    RagasMetric(
        "topic_adherence",
        "TopicAdherence",
        "Whether the agent keeps to its topics.",
        ("user_input", "response", "reference_topics"),
        options={"mode": "f1"},
        calls=3,
        notes=f"{_PRECISION_OR_RECALL} {_CONVERSATION}",
    ),
    RagasMetric(
        "tool_call_accuracy",
        "ToolCallAccuracy",
        "Whether the agent calls the tools of the reference, with the same arguments and in the same order.",
        ("user_input", "response", "reference_tool_calls"),
        options={"strict_order": True},
        calls=0,
        notes=_CALLS,
    ),
    RagasMetric(
        "tool_call_f1",
        "ToolCallF1",
        "F1 of the agent's tool calls compared with those of the reference.",
        ("user_input", "response", "reference_tool_calls"),
        calls=0,
        notes=_CALLS,
    ),
    RagasMetric(
        "agent_goal_accuracy",
        "AgentGoalAccuracyWithReference",
        "Whether the agent reached the outcome of the reference.",
        ("user_input", "response", "reference"),
        calls=2,
        notes=_CONVERSATION,
    ),
    RagasMetric(
        "agent_goal_accuracy_without_reference",
        "AgentGoalAccuracyWithoutReference",
        "Whether the agent reached the user's goal.",
        _QUESTION,
        calls=2,
        notes=_CONVERSATION,
    ),
    RagasMetric(
        "sql_semantic_equivalence",
        "SQLSemanticEquivalence",
        "Whether the SQL queries of the response and the reference return the same rows.",
        ("response", "reference"),
        may=("reference_contexts",),
        notes="`reference_contexts` describe the tables.",
    ),
    RagasMetric(
        "datacompy_score",
        "DataCompyScore",
        "Overlap of the CSV tables of the response and the reference.",
        ("response", "reference"),
        options={"mode": "rows", "metric": "f1"},
        calls=0,
        notes="`mode` is `rows` or `columns`; `metric` is `precision`, `recall` or `f1`.",
    ),
)


def _metric(row: RagasMetric) -> Metric:
    return Metric(row.name, "numeric", None, _function(row), lower_is_better=row.lower_is_better)


def _function(row: RagasMetric) -> Callable[..., Any]:
    async def score(**given: Any) -> Any:
        from promptls.metrics.ragas.scoring import scored

        return await scored(row, given)

    function: Any = score
    # Read by `inspect`: the function itself accepts any arguments.
    function.__signature__ = _signature(row)
    function.__name__ = row.name
    function.__doc__ = row.summary
    return score


def _signature(row: RagasMetric) -> Signature:
    needed = [*row.needs, *([JUDGE] if row.asks else []), *([EMBEDDER] if row.embeds else [])]
    defaults = {**dict.fromkeys(row.may), **row.options, **_common_options(row)}
    return Signature(
        [
            *(Parameter(name, Parameter.KEYWORD_ONLY) for name in needed),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()),
        ]
    )


def _common_options(row: RagasMetric) -> dict[str, Any]:
    """Return the options that are not parameters of the class."""
    return {**({EMBEDDINGS: None} if row.embeds else {}), **({PROMPTS: None} if row.asks else {})}


def _page(row: RagasMetric) -> str:
    needs = ", ".join(f"`{name}`" for name in (*row.needs, *row.may))
    options = [*row.options.items(), *_common_options(row).items()]
    lines = [row.summary, ""]
    lines.append(
        f'Computed by `{row.kind}` of the package ragas (`pip install "promptls[ragas]"`), from 0 to 1. '
        f"Reads {needs}; use `columns` if a column has another name. "
        "Lists may be JSON text."
    )
    if row.asks:
        lines.append(
            f"Asks the judge about {plural(row.calls, 'time')} per row. `prompts` changes its prompts: a "
            "mapping from the names of Ragas's prompts to texts."
        )
    else:
        lines.append("Does not ask a judge.")
    if row.notes:
        lines.append(row.notes)
    if options:
        lines += ["", "| option | default |", "| --- | --- |"]
        lines += [f"| `{name}` | {'' if value is None else f'`{value}`'} |" for name, value in options]
    lines += ["", f"Source: [Ragas]({DOCUMENTATION})."]
    return "\n".join(lines)


BUILTIN_RAGAS_METRICS: Final[dict[str, Metric]] = {row.name: _metric(row) for row in RAGAS_METRICS}
"""The metrics by name, in the order of the documentation."""

RAGAS_PAGES: Final[dict[str, str]] = {row.name: _page(row) for row in RAGAS_METRICS}
"""The documentation page of each metric, in Markdown."""

RAGAS_CALLS: Final[dict[str, int]] = {row.name: row.calls for row in RAGAS_METRICS}
"""The approximate number of judge calls per row of each metric."""
