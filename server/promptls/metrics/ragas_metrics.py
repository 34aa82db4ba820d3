"""The metrics of Ragas: the table of their columns and options, and how Ragas scores a row.

`ragas` is only imported for scoring, in the run's process. Names, parameters and pages come from the table.
Source: `ragas.metrics.collections` of Ragas 0.4.3.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import Parameter, Signature
from itertools import starmap
from types import SimpleNamespace
from typing import Any, Final

from promptls.metrics import grading
from promptls.metrics.metric import Metric, MetricResult
from promptls.metrics.values import context_texts, read_json
from promptls.text.errors import UserError
from promptls.text.format import in_code, plural

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


def _function(row: RagasMetric) -> Callable[..., Any]:
    async def score(**arguments: Any) -> Any:
        return await score_values(row, arguments)

    function: Any = score
    # Read by `inspect`: the function itself accepts any arguments.
    needed = [*row.needs, *([grading.JUDGE] if row.asks else []), *([grading.EMBEDDER] if row.embeds else [])]
    common = {grading.EMBEDDINGS: row.embeds, PROMPTS: row.asks}  # no parameters of the class
    used = (name for name, is_used in common.items() if is_used)
    defaults = {**dict.fromkeys(row.may), **row.options, **dict.fromkeys(used)}
    function.__signature__ = Signature(
        [
            *(Parameter(name, Parameter.KEYWORD_ONLY) for name in needed),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()),
        ]
    )
    function.__name__ = row.name
    function.__doc__ = row.summary
    return score


def _page(row: RagasMetric) -> str:
    needs = in_code((*row.needs, *row.may))
    options = {**row.options, **({grading.EMBEDDINGS: None} if row.embeds else {})}
    asks = f" Asks the judge about {plural(row.calls, 'time')} per row." if row.asks else ""
    lines = [row.summary, "", f"Computed by `{row.kind}` of the package ragas. Reads {needs}.{asks}"]
    if row.notes:
        lines.append(row.notes)
    if options:
        lines.append(f"Options: {', '.join(starmap(_option, options.items()))}.")
    return "\n".join(lines)


def _option(name: str, default: object) -> str:
    """Return an option with its default as it is written in YAML: `` `beta` (`1.0`) ``."""
    if default is None:
        return f"`{name}`"
    return f"`{name}` (`{default if isinstance(default, str) else json.dumps(default)}`)"


BUILTIN_RAGAS_METRICS: Final[dict[str, Metric]] = {
    row.name: Metric(row.name, "numeric", None, _function(row), lower_is_better=row.lower_is_better)
    for row in RAGAS_METRICS
}
"""The metrics by name, in the order of the documentation."""

RAGAS_PAGES: Final[dict[str, str]] = {row.name: _page(row) for row in RAGAS_METRICS}
"""The documentation page of each metric, in Markdown."""

RAGAS_CALLS: Final[dict[str, int]] = {row.name: row.calls for row in RAGAS_METRICS}
"""The approximate number of judge calls per row of each metric."""


_USERS = frozenset({"user", "human", "system", "developer"})
_TOOLS = frozenset({"tool", "function"})
_AGENTS = frozenset({"assistant", "ai", "agent", "model"})


def conversation(value: object, response: str) -> list[dict[str, Any]]:
    """Return the messages of a conversation, with `role`, `content` and `tool_calls`; the agent's is last.

    Raises `UserError` if the value is not a conversation.
    """
    read = read_json(value)
    if isinstance(read, Mapping) and isinstance(read.get("messages"), list):
        read = read["messages"]
    messages: list[dict[str, Any]] = (
        [_message(each) for each in read]
        if isinstance(read, list)
        else [{"role": "user", "content": str(value), "tool_calls": []}]
    )
    if not messages or messages[-1]["role"] != "assistant":
        messages.append(
            {"role": "assistant", "content": response, "tool_calls": _calls_of_response(response)}
        )
    return messages


def tool_calls(value: object) -> list[dict[str, Any]]:
    """Return the tool calls of a list or JSON list, each with `name` and `args`; raises `UserError`."""
    read = read_json(value)
    if isinstance(read, Mapping):
        read = read.get("tool_calls", [read])
    if not isinstance(read, list):
        raise UserError(f"`{value}` is not a list of tool calls: each has `name` and `args`")
    return [_call(each) for each in read]


def _message(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UserError(f"`{value}` is not a message: a message has `role` and `content`")
    said = str(value.get("role") or value.get("type") or "").lower()
    role = next(
        (
            role
            for role, names in (("user", _USERS), ("tool", _TOOLS), ("assistant", _AGENTS))
            if said in names
        ),
        None,
    )
    if role is None:
        raise UserError(f"a message has the role `{said}`: choose `user`, `assistant` or `tool`")
    calls = value.get("tool_calls") or []
    return {"role": role, "content": str(value.get("content") or ""), "tool_calls": tool_calls(calls)}


def _call(value: object) -> dict[str, Any]:
    # In OpenAI's format, name and arguments are nested one level deeper.
    found = value.get("function", value) if isinstance(value, Mapping) else value
    if not isinstance(found, Mapping) or not isinstance(found.get("name"), str):
        raise UserError(f"`{value}` is not a tool call: a call has `name` and `args`")
    arguments = read_json(found.get("args", found.get("arguments", {})))
    if not isinstance(arguments, Mapping):
        raise UserError(f"the arguments of the call of `{found['name']}` are not a mapping")
    return {"name": found["name"], "args": dict(arguments)}


def _calls_of_response(response: str) -> list[dict[str, Any]]:
    """Return the tool calls in a JSON response; empty for any other response."""
    read = read_json(response)
    is_call = isinstance(read, Mapping) and ("tool_calls" in read or {"name", "args"} <= read.keys())
    if not is_call and not isinstance(read, list):
        return []
    try:
        return tool_calls(read)
    except UserError:
        return []


_LISTS = frozenset({"retrieved_contexts", "reference_contexts", "reference_topics"})
CONVERSATIONS: Final = frozenset(
    {
        "TopicAdherence",
        "ToolCallAccuracy",
        "ToolCallF1",
        "AgentGoalAccuracyWithReference",
        "AgentGoalAccuracyWithoutReference",
    }
)
"""The classes of metrics that score a conversation."""

_INSTALL = 'run `pip install "promptls[ragas]"`'


async def score_values(row: RagasMetric, arguments: Mapping[str, Any]) -> MetricResult:
    """Return the score for the row's values `arguments`.

    Raises `UserError` if Ragas is not installed or the judge fails.
    """
    # The import takes seconds; other requests of the run continue meanwhile.
    ragas = await asyncio.to_thread(_ragas)
    judge: Any = ragas.Judge(arguments[grading.JUDGE]) if row.asks else None
    metric_class = getattr(ragas.collections, row.kind)
    parts = {"llm": judge} if row.asks else {}
    if row.embeds:
        parts["embeddings"] = ragas.Embeddings(arguments[grading.EMBEDDER])
    options = {name: arguments[name] for name in row.options if name in arguments}
    if isinstance(options.get("weights"), tuple):
        options["weights"] = list(options["weights"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            metric = metric_class(**parts, **options)
            _change_prompts(metric, row.name, arguments.get(PROMPTS))
            result = await metric.ascore(**_arguments(row, arguments, ragas.messages))
        except UserError:
            raise
        except ImportError as error:
            raise UserError(
                f"`{row.name}` needs the package `{error.name or 'datacompy'}`", remedy=_INSTALL
            ) from None
        except Exception as error:  # noqa: BLE001 - Ragas raises many kinds of errors
            _refuse_failed(judge)
            raise UserError(f"Ragas could not score it: {type(error).__name__}: {error}") from None
    _refuse_failed(judge)
    value = float(result.value)
    if math.isnan(value):
        return MetricResult(
            None, result.reason or "Ragas gave no score: nothing to judge, or a grade that it does not know"
        )
    return MetricResult(value, result.reason or None)


def prompts_of(name: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the instructions of the prompts of the metric `name`.

    Raises `UserError` if Ragas is not installed.
    """
    row = next((each for each in RAGAS_METRICS if each.name == name), None)
    if row is None or not row.asks:
        return {}
    ragas = _ragas()
    chosen = {option: options[option] for option in row.options if option in options}
    parts = {"llm": ragas.Judge(None)} | ({"embeddings": ragas.Embeddings(None)} if row.embeds else {})
    metric = getattr(ragas.collections, row.kind)(**parts, **chosen)
    _change_prompts(metric, name, options.get(PROMPTS))
    return {key: str(prompt.instruction) for key, prompt in _prompts_in(metric).items()}


def _prompts_in(metric: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(metric).items()
        if isinstance(getattr(value, "instruction", None), str) and hasattr(value, "to_string")
    }


def _change_prompts(metric: Any, name: str, changes: object) -> None:
    """Apply the instructions in `changes` to the prompts of a Ragas metric; raises `UserError`."""
    if not changes:
        return
    if not isinstance(changes, Mapping):
        raise UserError(f"the option `{PROMPTS}` of `{name}` is not a mapping of names to instructions")
    known = _prompts_in(metric)
    for key, change in changes.items():
        if key not in known:
            listed = in_code(known)
            raise UserError(f"`{name}` has no prompt `{key}`", remedy=f"it has {listed or 'none'}")
        fields = change if isinstance(change, Mapping) else {"instruction": change}
        for part, value in fields.items():
            if part not in {"instruction", "examples", "language"}:
                raise UserError(
                    f"the prompt `{key}` has no `{part}`",
                    remedy="change `instruction`, `examples`, `language`",
                )
            setattr(known[key], part, value)


def _refuse_failed(judge: Any) -> None:
    """Raise the judge's failure, if any: some classes replace it by a different error or by a number."""
    if judge is not None and judge.failure is not None:
        raise judge.failure from None


def _arguments(row: RagasMetric, values: Mapping[str, Any], messages: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name in (*row.needs, *row.may):
        value = values.get(name)
        if value is None and name in row.may:
            continue
        if name in _LISTS:
            arguments[name] = context_texts(value)
        elif name == "reference_tool_calls":
            arguments[name] = [messages.ToolCall(**call) for call in tool_calls(value)]
        elif row.kind in CONVERSATIONS and name == "user_input":
            turns = conversation(value, str(values.get("response") or ""))
            arguments[name] = [_turn(turn, messages) for turn in turns]
        elif row.kind in CONVERSATIONS and name == "response":
            continue
        else:
            arguments[name] = value if isinstance(value, str) else str(value)
    return arguments


def _turn(turn: Mapping[str, Any], messages: Any) -> Any:
    if turn["role"] == "user":
        return messages.HumanMessage(content=turn["content"])
    if turn["role"] == "tool":
        return messages.ToolMessage(content=turn["content"])
    calls = [messages.ToolCall(**call) for call in turn["tool_calls"]]
    return messages.AIMessage(content=turn["content"], tool_calls=calls or None)


@lru_cache(maxsize=1)
def _ragas() -> Any:
    """Import Ragas, and return its modules and adapters for its base classes; raises `UserError`."""
    # Disable telemetry.
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ragas import messages
            from ragas.embeddings.base import BaseRagasEmbedding
            from ragas.llms.base import InstructorBaseRagasLLM
            from ragas.metrics import collections
    except ImportError as error:
        missing = (error.name or "ragas").partition(".")[0]
        raise UserError(f"this metric needs the package `{missing}`: {error}", remedy=_INSTALL) from None
    # Errors that Ragas logs are reported as reasons of scores.
    logging.getLogger("ragas").setLevel(logging.CRITICAL)
    return SimpleNamespace(
        collections=collections,
        messages=messages,
        Judge=_judge_class(InstructorBaseRagasLLM),
        Embeddings=_embeddings_class(BaseRagasEmbedding),
    )


def _judge_class(base: Any) -> Any:
    class RagasJudge(base):  # type: ignore[misc] # the base is only known at run time
        """An adapter of the judge to Ragas's LLM interface; after a failure, it is not called again."""

        def __init__(self, judge: grading.JudgeModel) -> None:
            self._judge = judge
            self._request_counts: Counter[str] = Counter()
            self.failure: UserError | None = None

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            if self.failure is not None:
                raise self.failure
            try:
                try:
                    return await self._answer(prompt, response_model)
                except grading.NoVerdictError:
                    return await self._answer(prompt, response_model)
            except UserError as failure:
                self.failure = failure
                raise

        async def _answer(self, prompt: str, response_model: Any) -> Any:
            # A repeated request is a request for another sample.
            self._request_counts[prompt] += 1
            schema = response_model.model_json_schema()
            text = await self._judge.ask(
                [{"role": "user", "content": prompt}], json_schema=schema, sample=self._request_counts[prompt]
            )
            verdict = grading.read_verdict(text, schema)
            try:
                return response_model.model_validate(verdict)
            except ValueError as error:
                raise grading.NoVerdictError(
                    f"the judge gave no verdict: {str(error).splitlines()[0]}"
                ) from None

        def generate(self, prompt: str, response_model: Any) -> Any:
            return asyncio.run(self.agenerate(prompt, response_model))

    return RagasJudge


def _embeddings_class(base: Any) -> Any:
    class RagasEmbeddings(base):  # type: ignore[misc] # as above
        """An adapter of the embedder to Ragas's embeddings interface."""

        def __init__(self, embedder: grading.Embedder) -> None:
            super().__init__()
            self._embedder = embedder

        async def aembed_text(self, text: str, **_given: Any) -> list[float]:
            return (await self._embedder.embed([text]))[0]

        async def aembed_texts(self, texts: list[str], **_given: Any) -> list[list[float]]:
            return await self._embedder.embed(texts)

        def embed_text(self, text: str, **_given: Any) -> list[float]:
            return asyncio.run(self.aembed_text(text))

    return RagasEmbeddings
