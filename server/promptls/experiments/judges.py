"""The judges and embedders of a run, as its metrics ask them: at their pace, kept, and accounted for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from promptls.experiments.answer_cache import answer_key, is_worth_keeping, key_prefix
from promptls.experiments.judging import JudgeAccount, MetricAsks
from promptls.experiments.kept_answers import KeptAnswers
from promptls.metrics.judge import EMBEDDER, JUDGE
from promptls.models.embedding import SteadyEmbeddings
from promptls.models.model import Completion, Model, ModelError
from promptls.models.prices import Price
from promptls.models.reference import ModelReference
from promptls.text.failure import Failure

_JUDGE = "the model that judges"
_MAKER = "the model that makes embeddings"
_Answer = TypeVar("_Answer")

# Models of OpenAI that reason refuse to be given a temperature.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-5)")


class OpenJudge(NamedTuple):
    """A model that judges: `turns` limits how many requests it works on."""

    reference: ModelReference
    model: Model
    turns: asyncio.Semaphore
    price: Price | None


class OpenEmbedder(NamedTuple):
    """A model that makes embeddings."""

    reference: ModelReference
    model: SteadyEmbeddings
    price: Price | None


class Judges:
    """The open judges and embedders, by the names of their models."""

    def __init__(
        self, answers: KeptAnswers, judges: Mapping[str, OpenJudge], embedders: Mapping[str, OpenEmbedder]
    ) -> None:
        self._answers = answers
        self._judges = judges
        self._embedders = embedders

    def of(self, asks: MetricAsks, repeat: int, account: RowAccount) -> dict[str, Any]:
        """The arguments of a metric that asks, for one response; what is asked goes to `account`."""
        found: dict[str, Any] = {}
        if asks.judge is not None:
            found[JUDGE] = _RowJudge(self._judges[asks.judge.name], self._answers, repeat, account)
        if asks.embedder is not None:
            found[EMBEDDER] = _RowEmbedder(self._embedders[asks.embedder.name], self._answers, account)
        return found


@dataclass(slots=True)
class RowAccount(JudgeAccount):
    """What the judges of one response took, and why one of them did not answer."""

    failure: ModelError | None = None
    answered: bool = False


@dataclass(frozen=True, slots=True)
class _RowJudge:
    opened: OpenJudge
    answers: KeptAnswers
    repeat: int
    account: RowAccount

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        reference = self.opened.reference
        parameters = _parameters(reference, sample)
        key = None
        if is_worth_keeping(reference):
            # A response to a repeat is judged for itself, as a sample is.
            prefix = key_prefix(reference, parameters, json_schema)
            key = answer_key(prefix + f"judge {sample}".encode(), messages, self.repeat)

        async def complete() -> Completion:
            async with self.opened.turns:
                return await self.opened.model.complete(
                    messages, parameters=parameters, json_schema=json_schema
                )

        answer, cached = await _asked(
            self.account, self.answers.answer(key, _digest(messages), messages, complete), _JUDGE
        )
        tokens = (answer.input_tokens or 0) + (answer.output_tokens or 0)
        price = self.opened.price
        cost = price.cost(answer.input_tokens, answer.output_tokens) if price else None
        self.account.add(cached=cached, tokens=tokens, cost=cost)
        return answer.text


@dataclass(frozen=True, slots=True)
class _RowEmbedder:
    opened: OpenEmbedder
    answers: KeptAnswers
    account: RowAccount

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        reference = self.opened.reference
        if reference.provider == "local":
            return (await _asked(self.account, self.opened.model.embed(texts), _MAKER)).vectors
        return list(await asyncio.gather(*(self._vector(text) for text in texts)))

    async def _vector(self, text: str) -> list[float]:
        reference = self.opened.reference
        messages = [{"role": "embedded", "content": text}]
        key = answer_key(key_prefix(reference, {"embeddings": True}, None), messages, 1)

        async def complete() -> Completion:
            made = await self.opened.model.embed([text])
            vector = json.dumps(made.vectors[0])
            return Completion(vector, made.input_tokens, 0, made.seconds, reference.model, "stop")

        answer, cached = await _asked(
            self.account, self.answers.answer(key, _digest(messages), messages, complete), _MAKER
        )
        price = self.opened.price
        cost = price.cost(answer.input_tokens, None) if price else None
        self.account.add(cached=cached, tokens=answer.input_tokens or 0, cost=cost)
        vector: list[float] = json.loads(answer.text)
        return vector


async def _asked(account: RowAccount, answer: Awaitable[_Answer], who: str) -> _Answer:
    """What is awaited, with a failure in the account; raises `Failure`, which says `who` failed."""
    try:
        found = await answer
    except ModelError as error:
        account.failure = error
        raise Failure(f"{who} did not answer: {error.message}") from None
    account.answered = True
    return found


def _parameters(reference: ModelReference, sample: int) -> dict[str, Any]:
    """What is sent beside the question: the first answer is the likeliest, further samples are free."""
    if sample > 1 or _REASONING.match(reference.model):
        return dict(reference.parameters)
    return {"temperature": 0, **reference.parameters}


def _digest(messages: Sequence[Mapping[str, str]]) -> str:
    canonical = json.dumps(list(messages), sort_keys=True, ensure_ascii=False)
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
