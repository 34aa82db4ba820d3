"""The judges and embedders of a run, as its metrics ask them: at their pace, kept, and accounted for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from promptls.experiments.answer_cache import SharedAnswers, answer_key, key_prefix
from promptls.experiments.judging import JudgeAccount, MetricAsks, judge_key, judge_parameters
from promptls.experiments.under_way import CallNote
from promptls.metrics.grading import EMBEDDER, JUDGE, NoVerdictError, read_verdict
from promptls.models.embedding import SteadyEmbeddings
from promptls.models.model import Completion, ModelError, ModelReference
from promptls.models.prices import Price
from promptls.models.steady import SteadyModel
from promptls.text.errors import UserError

_JUDGE = "the model that judges"
_MAKER = "the model that makes embeddings"
_Answer = TypeVar("_Answer")


class OpenJudge(NamedTuple):
    """A model that judges: `turns` limits how many requests it works on."""

    reference: ModelReference
    model: SteadyModel
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
        self, answers: SharedAnswers, judges: Mapping[str, OpenJudge], embedders: Mapping[str, OpenEmbedder]
    ) -> None:
        self._answers = answers
        self._judges = judges
        self._embedders = embedders

    def of(
        self, asks: MetricAsks, repeat: int, account: RowAccount, note: CallNote, *, again: bool = False
    ) -> dict[str, Any]:
        """Return the arguments of a metric that asks, for one response; what is asked goes to `account`.

        `note` is told of each call before it is made.
        Where it is asked `again`, kept answers that are no verdict do not count.
        """
        found: dict[str, Any] = {}
        if asks.judge is not None:
            found[JUDGE] = _RowJudge(
                self._judges[asks.judge.name], self._answers, repeat, account, note, again
            )
        if asks.embedder is not None:
            found[EMBEDDER] = _RowEmbedder(self._embedders[asks.embedder.name], self._answers, account, note)
        return found


@dataclass(slots=True)
class RowAccount(JudgeAccount):
    """What the judges of one response took, and why one of them did not answer."""

    failure: ModelError | None = None
    answered: bool = False

    def take(self, other: RowAccount) -> None:
        """Add the usage of the judges of another metric."""
        self.failure = self.failure or other.failure
        self.answered = self.answered or other.answered
        self.calls += other.calls
        self.cached += other.cached
        self.tokens += other.tokens
        self.spent_tokens += other.spent_tokens
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost
            self.paid = (self.paid or 0.0) + (other.paid or 0.0)


@dataclass(frozen=True, slots=True)
class _RowJudge:
    opened: OpenJudge
    answers: SharedAnswers
    repeat: int
    account: RowAccount
    note: CallNote
    again: bool

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        reference = self.opened.reference
        key = judge_key(reference, messages, json_schema, sample, self.repeat)
        parameters = judge_parameters(reference, sample)

        async def complete() -> Completion:
            async with self.opened.turns:
                return await self.opened.model.complete(
                    messages,
                    parameters=parameters,
                    json_schema=json_schema,
                    before=lambda: self.note(reference, key),
                )

        answer, cached = await _asked(
            self.account,
            self.answers.answer(key, _digest(messages), messages, complete, self._is_good(json_schema)),
            _JUDGE,
        )
        tokens = (answer.input_tokens or 0) + (answer.output_tokens or 0)
        price = self.opened.price
        cost = price.cost(answer.input_tokens, answer.output_tokens) if price else None
        self.account.add(cached=cached, tokens=tokens, cost=cost)
        return answer.text

    def _is_good(self, json_schema: Mapping[str, Any]) -> Callable[[Completion], bool]:
        """Return which cached answers count: if a score is asked for again, only those that are a verdict."""
        if not self.again:
            return lambda _answer: True

        def is_verdict(answer: Completion) -> bool:
            try:
                read_verdict(answer.text, json_schema)
            except NoVerdictError:
                return False
            return True

        return is_verdict


@dataclass(frozen=True, slots=True)
class _RowEmbedder:
    opened: OpenEmbedder
    answers: SharedAnswers
    account: RowAccount
    note: CallNote

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
            made = await self.opened.model.embed([text], lambda: self.note(reference, key))
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
    """Return what is awaited, with a failure in the account; raises `UserError`, which says `who` failed."""
    try:
        found = await answer
    except ModelError as error:
        account.failure = error
        account.add(cached=False, tokens=0, cost=None)
        raise UserError(f"{who} did not answer: {error.message}") from None
    account.answered = True
    return found


def _digest(messages: Sequence[Mapping[str, str]]) -> str:
    canonical = json.dumps(list(messages), sort_keys=True, ensure_ascii=False)
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
