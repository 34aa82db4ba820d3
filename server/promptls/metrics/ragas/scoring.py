"""One row scored by a class of Ragas, which asks our judge.

The classes take an LLM that answers with an object of a given model, and embeddings: both are made of the
judge and the embedder of the run, so that its limits, its cache and its accounts hold for them too.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import warnings
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.metrics.judge import EMBEDDER, JUDGE, Embedder, Judge
from promptls.metrics.ragas.conversation import conversation, texts, tool_calls
from promptls.metrics.ragas.table import RagasMetric
from promptls.metrics.result import MetricResult
from promptls.text.failure import Failure

_LISTS = frozenset({"retrieved_contexts", "reference_contexts", "reference_topics"})
_CONVERSATIONS = frozenset(
    {
        "TopicAdherence",
        "ToolCallAccuracy",
        "ToolCallF1",
        "AgentGoalAccuracyWithReference",
        "AgentGoalAccuracyWithoutReference",
    }
)

_INSTALL = 'run `pip install "promptls[ragas]"`'


async def scored(row: RagasMetric, given: Mapping[str, Any]) -> MetricResult:
    """The score of the row's values `given`; raises `Failure` where Ragas is missing or the judge fails."""
    # The import takes seconds, in which the run's other requests go on.
    ragas = await asyncio.to_thread(_ragas)
    judge: Any = ragas.Judge(given[JUDGE]) if row.asks else None
    wanted = getattr(ragas.collections, row.kind)
    parts = {"llm": judge} if row.asks else {}
    if row.embeds:
        parts["embeddings"] = ragas.Embeddings(given[EMBEDDER])
    options = {name: given[name] for name in row.options if name in given}
    if isinstance(options.get("weights"), tuple):
        options["weights"] = list(options["weights"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            metric = wanted(**parts, **options)
            result = await metric.ascore(**_arguments(row, given, ragas.messages))
        except Failure:
            raise
        except ImportError as error:
            raise Failure(
                f"`{row.name}` needs the package `{error.name or 'datacompy'}`", remedy=_INSTALL
            ) from None
        except Exception as error:  # noqa: BLE001 - Ragas raises errors of many kinds
            _refuse_failed(judge)
            raise Failure(f"Ragas could not score it: {type(error).__name__}: {error}") from None
    _refuse_failed(judge)
    value = float(result.value)
    if math.isnan(value):
        return MetricResult(
            None, result.reason or "Ragas gave no score: nothing to judge, or a grade that it does not know"
        )
    return MetricResult(value, result.reason or None)


def _refuse_failed(judge: Any) -> None:
    """Raises the judge's failure: some of the classes put an error or a number of their own in its place."""
    if judge is not None and judge.failure is not None:
        raise judge.failure from None


def _arguments(row: RagasMetric, given: Mapping[str, Any], messages: Any) -> dict[str, Any]:
    """What the class's `ascore` takes of `given`."""
    arguments: dict[str, Any] = {}
    for name in (*row.needs, *row.may):
        value = given.get(name)
        if value is None and name in row.may:
            continue
        if name in _LISTS:
            arguments[name] = texts(value)
        elif name == "reference_tool_calls":
            arguments[name] = [messages.ToolCall(**call) for call in tool_calls(value)]
        elif row.kind in _CONVERSATIONS and name == "user_input":
            turns = conversation(value, str(given.get("response") or ""))
            arguments[name] = [_turn(turn, messages) for turn in turns]
        elif row.kind in _CONVERSATIONS and name == "response":
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
    """The modules of Ragas that are needed, and its base classes made ours; raises `Failure`."""
    # It tells its makers of each use over the network, unless it is asked not to.
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
        raise Failure(f"this metric needs the package `{missing}`: {error}", remedy=_INSTALL) from None
    # What it logs as an error is the reason of a score here.
    logging.getLogger("ragas").setLevel(logging.CRITICAL)
    return SimpleNamespace(
        collections=collections,
        messages=messages,
        Judge=_judge_class(InstructorBaseRagasLLM),
        Embeddings=_embeddings_class(BaseRagasEmbedding),
    )


def _judge_class(base: Any) -> Any:
    class RagasJudge(base):  # type: ignore[misc] # the base is known at run time alone
        """The judge as Ragas asks an LLM; after a failure it is not asked again for this row."""

        def __init__(self, judge: Judge) -> None:
            self._judge = judge
            self._asked: Counter[str] = Counter()
            self.failure: Failure | None = None

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            if self.failure is not None:
                raise self.failure
            try:
                try:
                    return await self._answer(prompt, response_model)
                except NoVerdictError:
                    return await self._answer(prompt, response_model)
            except Failure as failure:
                self.failure = failure
                raise

        async def _answer(self, prompt: str, response_model: Any) -> Any:
            # The same question twice asks for a second sample of the answer.
            self._asked[prompt] += 1
            schema = response_model.model_json_schema()
            text = await self._judge.ask(
                [{"role": "user", "content": prompt}], json_schema=schema, sample=self._asked[prompt]
            )
            verdict = read_verdict(text, schema)
            try:
                return response_model.model_validate(verdict)
            except ValueError as error:
                raise NoVerdictError(f"the judge gave no verdict: {str(error).splitlines()[0]}") from None

        def generate(self, prompt: str, response_model: Any) -> Any:
            return asyncio.run(self.agenerate(prompt, response_model))

    return RagasJudge


def _embeddings_class(base: Any) -> Any:
    class RagasEmbeddings(base):  # type: ignore[misc] # as above
        """The embedder as Ragas asks for embeddings."""

        def __init__(self, embedder: Embedder) -> None:
            super().__init__()
            self._embedder = embedder

        async def aembed_text(self, text: str, **_given: Any) -> list[float]:
            return (await self._embedder.embed([text]))[0]

        async def aembed_texts(self, texts: list[str], **_given: Any) -> list[list[float]]:
            return await self._embedder.embed(texts)

        def embed_text(self, text: str, **_given: Any) -> list[float]:
            return asyncio.run(self.aembed_text(text))

    return RagasEmbeddings
