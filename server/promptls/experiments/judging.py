"""Metrics that use models: the models, their requests, and the cost."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from promptls.experiments.answer_cache import (
    CallNote,
    SharedAnswers,
    answer_key,
    is_cacheable,
    key_prefix,
)
from promptls.metrics.builtin_metrics import BUILTIN_METRICS, judge_calls
from promptls.metrics.grading import EMBEDDER, EMBEDDINGS, JUDGE, NoVerdictError, read_verdict
from promptls.metrics.metric import Metric
from promptls.metrics.metric_loading import asks_for
from promptls.models import model_names, opening
from promptls.models.model import Completion, ModelError, ModelReference
from promptls.models.providers import Price, cost_of
from promptls.models.retrying import RetryingModel
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.workspace.python_functions import functions_in

if TYPE_CHECKING:
    from pathlib import Path

    from promptls.experiments.experiment import Experiment
    from promptls.settings.header import NamedMetric
    from promptls.settings.project import Project


# OpenAI's reasoning models reject the parameter `temperature`.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-5)")

_DECORATORS = frozenset({"discrete_metric", "numeric_metric", "ranking_metric"})
"""Decorators of metric functions that do not change their parameters."""

ABOUT_TOKENS = 400
"""Assumed number of tokens of a judge request before the response is known."""


class MetricAsks(NamedTuple):
    """The model usage of a metric.

    `calls` is the approximate number of requests per response, and `tokens` their total size.
    """

    judge: ModelReference | None
    embedder: ModelReference | None
    calls: int
    tokens: int


@dataclass(slots=True)
class JudgeAccount:
    """The usage of the judges of a response.

    `calls` were made and `cached` answers were reused; tokens and `cost` (US dollars, None if the price is
    unknown) are those of all of them, `spent_tokens` and `paid` those of the calls only.
    """

    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = None
    paid: float | None = None
    spent_tokens: int = 0
    failure: ModelError | None = None
    """The error of a judge that did not answer."""
    answered: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the usage as JSON."""
        return {name: getattr(self, name) for name in ("calls", "cached", "tokens", "cost", "paid")}

    def after(self, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the sum of the usage and the usage `before`, as JSON."""
        both = self.to_json()
        for name, value in (before or {}).items():
            if value is not None:
                both[name] = (both.get(name) or 0) + value
        return both

    def add(self, *, cached: bool, tokens: int, cost: float | None) -> None:
        """Add the usage of an answer."""
        self.spent_tokens += 0 if cached else tokens
        self.calls += not cached
        self.cached += cached
        self.tokens += tokens
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
            self.paid = (self.paid or 0.0) + (0.0 if cached else cost)

    def take(self, other: JudgeAccount) -> None:
        """Add the usage of other judges."""
        self.calls += other.calls
        self.cached += other.cached
        self.tokens += other.tokens
        self.spent_tokens += other.spent_tokens
        self.failure = self.failure or other.failure
        self.answered = self.answered or other.answered
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost
            self.paid = (self.paid or 0.0) + (other.paid or 0.0)


def judging_models(
    metrics: Sequence[str],
    named: Mapping[str, NamedMetric],
    settings: Project,
    root: Path,
    base: Path,
) -> tuple[dict[str, ModelReference], dict[str, ModelReference]]:
    """Return the judge models and the embedding models of these metrics, by name.

    Paths are relative to the project's `root` for models that it defines, else to `base`. Raises
    `UsageError` for an unknown model.
    """
    chosen = [named[name] for name in metrics if name in named]
    judges = [settings.judge, *(metric.model for metric in chosen)]
    makers = [metric.options.get(EMBEDDINGS) for metric in chosen]
    models = settings.models
    return (
        {
            name: model_names.find_model(name, models, root if name in models else base)
            for name in judges
            if name
        },
        {
            str(name): model_names.find_embeddings(str(name), models, root if name in models else base)
            for name in makers
            if name
        },
    )


def possible_models(experiment: Experiment) -> list[ModelReference]:
    """Return the models that the experiment may call, without executing user code.

    A judge is included unless it is certain that no metric uses it.
    """
    chosen: list[ModelReference] = [*experiment.models]
    for name in experiment.metrics:
        named = experiment.named_metrics.get(name)
        judge = named.model if named and named.model else experiment.judge
        if judge is not None and _may_ask_judge(named.use if named else name, experiment.base):
            chosen.append(experiment.judges[judge])
        if named and (maker := named.options.get(EMBEDDINGS)):
            chosen.append(experiment.embedders[str(maker)])
    return [each for index, each in enumerate(chosen) if each not in chosen[:index]]


def _may_ask_judge(use: str, base: Path) -> bool:
    file, colon, attribute = use.rpartition(":")
    if not colon or not file.endswith(".py"):
        ready = BUILTIN_METRICS.get(use)
        return ready is None or JUDGE in asks_for(ready)
    for function in functions_in(str(base / file)) or ():
        # The parameters of an assigned name are unknown.
        if function.name == attribute and function.parameters and set(function.decorators) <= _DECORATORS:
            return any(
                each.name == JUDGE or each.kind not in {"any", "keyword"} for each in function.parameters
            )
    return True


def judging_references(asks: Mapping[str, MetricAsks]) -> list[ModelReference]:
    """Return the models that metrics use."""
    return [model for each in asks.values() for model in (each.judge, each.embedder) if model is not None]


def model_usage(experiment: Experiment, metrics: Iterable[Metric]) -> dict[str, MetricAsks]:
    """Return the model usage of metrics by name, without metrics that do not use models.

    Raises `UsageError` with a remedy for a metric without a judge, and `ModelError` for a model
    that is not available; nothing is sent.
    """
    found = {}
    for metric in metrics:
        needs = asks_for(metric)
        if not needs:
            continue
        judge = _judge_of(metric, experiment) if JUDGE in needs else None
        embedder = None
        if EMBEDDER in needs:
            name = metric.options.get(EMBEDDINGS)
            embedder = experiment.embedders[str(name)] if name else model_names.find_embeddings(None)
            opening.check_embeddings(embedder)
        named = experiment.named_metrics.get(metric.name)
        calls = judge_calls(metric, named.use if named else metric.name) if judge else 0
        found[metric.name] = MetricAsks(judge, embedder, calls, calls * ABOUT_TOKENS)
    return found


def judge_key(
    reference: ModelReference,
    messages: Sequence[Mapping[str, str]],
    json_schema: Mapping[str, Any],
    sample: int,
    repeat: int,
) -> bytes | None:
    """Return the cache key of a judge's answer; None if the judge's answers are not cached."""
    if not is_cacheable(reference):
        return None
    # Each repeat is judged separately, as are samples.
    prefix = key_prefix(reference, judge_parameters(reference, sample), json_schema)
    return answer_key(prefix + f"judge {sample}".encode(), messages, repeat)


def judge_parameters(reference: ModelReference, sample: int) -> dict[str, Any]:
    """Return the request options: temperature 0 for the first sample, the model's default for the others."""
    if sample > 1 or _REASONING.match(reference.model):
        return dict(reference.parameters)
    return {"temperature": 0, **reference.parameters}


def _judge_of(metric: Metric, experiment: Experiment) -> ModelReference:
    name = metric.judge or experiment.judge
    if name is None:
        raise UsageError(
            f"the metric `{metric.name}` asks a model that judges, and none is set",
            FilePlace(experiment.prompt),
            'set `judge = "provider:model"` in `promptls.toml`, or `model: provider:model` with the metric '
            "under `metrics`",
        )
    judge = experiment.judges[name]
    opening.check_model(judge)
    return judge


_JUDGE = "the model that judges"
_MAKER = "the model that makes embeddings"
_Answer = TypeVar("_Answer")


class OpenModel(NamedTuple):
    """An open model of the run or judge; `slots` limits its concurrent requests."""

    reference: ModelReference
    model: RetryingModel
    slots: asyncio.Semaphore
    price: Price | None


class OpenEmbedder(NamedTuple):
    """An open embedding model."""

    reference: ModelReference
    model: opening.RetryingEmbeddings
    price: Price | None


class Judges:
    """The open judges and embedders, by model name."""

    def __init__(
        self, answers: SharedAnswers, judges: Mapping[str, OpenModel], embedders: Mapping[str, OpenEmbedder]
    ) -> None:
        self._answers = answers
        self._judges = judges
        self._embedders = embedders

    def of(
        self, asks: MetricAsks, repeat: int, account: JudgeAccount, note: CallNote, *, again: bool = False
    ) -> dict[str, Any]:
        """Return the model arguments of a metric for one response; usage is recorded in `account`.

        `note` is called before each call.
        With `again`, cached answers without a verdict are ignored.
        """
        found: dict[str, Any] = {}
        if asks.judge is not None:
            found[JUDGE] = _RowJudge(
                self._judges[asks.judge.name], self._answers, repeat, account, note, again
            )
        if asks.embedder is not None:
            found[EMBEDDER] = _RowEmbedder(self._embedders[asks.embedder.name], self._answers, account, note)
        return found


@dataclass(frozen=True, slots=True)
class _RowJudge:
    opened: OpenModel
    answers: SharedAnswers
    repeat: int
    account: JudgeAccount
    note: CallNote
    again: bool

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        reference = self.opened.reference
        key = judge_key(reference, messages, json_schema, sample, self.repeat)
        parameters = judge_parameters(reference, sample)

        async def complete() -> Completion:
            async with self.opened.slots:
                return await self.opened.model.complete(
                    messages,
                    parameters=parameters,
                    json_schema=json_schema,
                    before=lambda: self.note(reference, key),
                )

        answer, cached = await _await_answer(
            self.account,
            self.answers.answer(key, messages, complete, self._is_good(json_schema)),
            _JUDGE,
        )
        tokens = (answer.input_tokens or 0) + (answer.output_tokens or 0)
        cost = cost_of(answer, self.opened.price)
        self.account.add(cached=cached, tokens=tokens, cost=cost)
        return answer.text

    def _is_good(self, json_schema: Mapping[str, Any]) -> Callable[[Completion], bool]:
        """Return a filter for cached answers: when scoring again, only verdicts are accepted."""
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
    account: JudgeAccount
    note: CallNote

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        reference = self.opened.reference
        if reference.provider == "local":
            return (await _await_answer(self.account, self.opened.model.embed(texts), _MAKER)).vectors
        return list(await asyncio.gather(*(self._vector(text) for text in texts)))

    async def _vector(self, text: str) -> list[float]:
        reference = self.opened.reference
        messages = [{"role": "embedded", "content": text}]
        key = answer_key(key_prefix(reference, {"embeddings": True}, None), messages, 1)

        async def complete() -> Completion:
            made = await self.opened.model.embed([text], lambda: self.note(reference, key))
            vector = json.dumps(made.vectors[0])
            return Completion(
                vector, made.input_tokens, None, made.seconds, reference.model, "stop", cost=made.cost
            )

        answer, cached = await _await_answer(
            self.account, self.answers.answer(key, messages, complete), _MAKER
        )
        cost = cost_of(answer, self.opened.price)
        self.account.add(cached=cached, tokens=answer.input_tokens or 0, cost=cost)
        vector: list[float] = json.loads(answer.text)
        return vector


async def _await_answer(account: JudgeAccount, answer: Awaitable[_Answer], who: str) -> _Answer:
    """Await the answer and record failures in the account; raises `UserError`, which says `who` failed."""
    try:
        found = await answer
    except ModelError as error:
        account.failure = error
        account.add(cached=False, tokens=0, cost=None)
        raise UserError(f"{who} did not answer: {error.message}") from None
    account.answered = True
    return found
