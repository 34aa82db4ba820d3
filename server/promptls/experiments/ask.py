"""Asking one model about one row, and scoring what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from promptls.datasets.dataset import Row
from promptls.experiments.answer_cache import is_worth_keeping
from promptls.experiments.answer_check import AnswerCheck
from promptls.experiments.budget import Expected
from promptls.experiments.definition import Experiment
from promptls.experiments.judges import Judges, OpenEmbedder, OpenJudge
from promptls.experiments.judging import asked_models
from promptls.experiments.kept_answers import KeptAnswers
from promptls.experiments.plan import AnswerKeys, Plan, parameters_of
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.scoring import Scorer
from promptls.models.embedding import open_embeddings
from promptls.models.keys import KeyMask, key_mask
from promptls.models.model import Completion, Model, ModelError
from promptls.models.pace import Pace
from promptls.models.prices import Price, is_paid, price_of
from promptls.models.reference import ModelReference
from promptls.models.registry import open_model, opened_model


class Asked(NamedTuple):
    """What one asking came to.

    `failure` is the model's error, where that is why there is no answer, and `judge_failure` that of a judge
    where none of a response's judges has answered; `calls` says how often models were asked, and `tokens` and
    `cost` (in US dollars) what was spent on it.
    """

    result: RowResult
    failure: ModelError | None
    calls: int
    tokens: int
    cost: float
    judge_failure: ModelError | None = None
    judged: bool = False


class _Opened(NamedTuple):
    reference: ModelReference
    model: Model
    turns: asyncio.Semaphore
    keys: AnswerKeys | None
    price: Price | None


@asynccontextmanager
async def opened_models(plan: Plan) -> AsyncIterator[Asker]:
    """What asks the plan's models, each opened once; at the end all of them are closed."""
    experiment = plan.experiment
    mask = key_mask([*experiment.models, *asked_models(plan.asks)])
    paces: dict[str, Pace] = {}
    async with AsyncExitStack() as stack:
        opened = await _route(plan, stack)
        models: dict[str, _Opened] = {}
        for reference in experiment.models:
            model = open_model(
                reference,
                pace=_pace(experiment, reference, paces),
                mask=mask,
                timeout=experiment.timeout,
                opened=opened,
            )
            stack.push_async_callback(model.close)
            keeps = plan.cache is not None and is_worth_keeping(reference)
            models[reference.name] = _Opened(
                reference,
                model,
                asyncio.Semaphore(model.most_at_once or experiment.concurrency),
                AnswerKeys(experiment, reference) if keeps else None,
                price_of(reference) if is_paid(reference) else None,
            )
        answers = KeptAnswers(plan.cache, experiment.timeout)
        stack.callback(answers.close)
        judges = await _judges(plan, answers, models, paces, mask, stack)
        yield Asker(plan, models, judges, answers, mask)


async def _judges(
    plan: Plan,
    answers: KeptAnswers,
    models: Mapping[str, _Opened],
    paces: dict[str, Pace],
    mask: KeyMask,
    stack: AsyncExitStack,
) -> Judges:
    """What the metrics ask; a judge that is one of the models as well keeps to the same limits."""
    experiment = plan.experiment
    judges: dict[str, OpenJudge] = {}
    embedders: dict[str, OpenEmbedder] = {}
    for asks in plan.asks.values():
        if (judge := asks.judge) is not None and judge.name not in judges:
            price = price_of(judge) if is_paid(judge) else None
            if (shared := models.get(judge.name)) is not None:
                judges[judge.name] = OpenJudge(judge, shared.model, shared.turns, price)
                continue
            model = open_model(
                judge, pace=_pace(experiment, judge, paces), mask=mask, timeout=experiment.timeout
            )
            stack.push_async_callback(model.close)
            turns = asyncio.Semaphore(model.most_at_once or experiment.concurrency)
            judges[judge.name] = OpenJudge(judge, model, turns, price)
        if (embedder := asks.embedder) is not None and embedder.name not in embedders:
            pace = _pace(experiment, embedder, paces)
            opened = open_embeddings(embedder, pace=pace, mask=mask, timeout=experiment.timeout)
            stack.push_async_callback(opened.close)
            price = price_of(embedder) if is_paid(embedder) else None
            embedders[embedder.name] = OpenEmbedder(embedder, opened, price)
    return Judges(answers, judges, embedders)


async def _route(plan: Plan, stack: AsyncExitStack) -> Callable[[ModelReference], Model]:
    """What opens the models; the nodes of a cluster hold them where the engine says so.

    Retries, pace, cache and scores stay in this process, and so are the same for both.
    """
    experiment = plan.experiment
    if experiment.engine == "local" or not plan.calls:
        return opened_model
    from promptls.models.ray_cluster import connected_cluster
    from promptls.models.ray_model import RayModel

    most = min(experiment.concurrency, plan.results)
    cluster = await connected_cluster(experiment.models, experiment.ray_address, most)

    async def close(error: type[BaseException] | None, *_: object) -> None:
        await cluster.close(at_once=error is not None)

    stack.push_async_exit(close)
    return lambda reference: RayModel(cluster, reference.name)


def _pace(experiment: Experiment, reference: ModelReference, paces: dict[str, Pace]) -> Pace:
    """The pace of the model: its own limits, else one that it shares with the provider's other models."""
    name = reference.name if reference.name in experiment.rate_limits else reference.provider
    limit = experiment.rate_limits.get(name)
    if name not in paces:
        paces[name] = (
            Pace()
            if limit is None
            else Pace(
                requests_per_minute=limit.requests_per_minute, tokens_per_minute=limit.tokens_per_minute
            )
        )
    return paces[name]


class Asker:
    """Holds the open models, and lets no model work on more requests than it says it can."""

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, _Opened],
        judges: Judges,
        answers: KeptAnswers,
        mask: KeyMask,
    ) -> None:
        self._plan = plan
        self._models = models
        self._scorer = Scorer(plan, judges, mask)
        self._answers = answers
        self._mask = mask
        self._check = AnswerCheck(is_json=plan.experiment.output_is_json, schema=plan.experiment.json_schema)
        self._judge_calls = sum(asks.calls for asks in plan.asks.values())
        self._judge_tokens = sum(asks.tokens for asks in plan.asks.values())

    def expected(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> Expected:
        """What asking about the row will take, as far as that can be known: its judges' calls, mostly."""
        if self._is_kept(rendered, reference, repeat):
            return self.expected_again()
        price = self._models[reference.name].price
        longest = parameters_of(self._plan.experiment, reference, 1).get("max_tokens")
        answer = longest if isinstance(longest, int) else 0
        cost = (price.cost(rendered.tokens, answer) if price else None) or 0.0
        tokens = rendered.tokens + answer + self._judge_tokens
        return Expected(tokens, cost, 1 + self._judge_calls)

    def expected_again(self) -> Expected:
        """What scoring a response will take at most, as far as that can be known."""
        return Expected(self._judge_tokens, calls=self._judge_calls)

    def is_there(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> bool:
        """Whether the row needs no call: it does not render, or its answer is kept and not judged."""
        if rendered.error is not None:
            return True
        return not self._plan.asks and self._is_kept(rendered, reference, repeat)

    def _is_kept(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> bool:
        keys = self._models[reference.name].keys
        return keys is not None and self._answers.has(keys.key(rendered, repeat))

    async def ask(self, row: Row, rendered: RenderedRow, reference: ModelReference, repeat: int) -> Asked:
        """What the asking came to; whatever goes wrong with the row is the result's `error`."""
        if rendered.error is not None:
            failed = self._failed(row, reference, repeat, rendered, rendered.error)
            return Asked(failed, None, calls=0, tokens=0, cost=0.0)
        opened = self._models[reference.name]
        try:
            completion, cached = await self._answer(opened, rendered, repeat)
        except ModelError as error:
            failed = self._failed(row, reference, repeat, rendered, error.message)
            return Asked(failed, error, calls=1, tokens=0, cost=0.0)
        cost = None
        if opened.price is not None:
            cost = opened.price.cost(completion.input_tokens, completion.output_tokens)
        counts = (completion.input_tokens, completion.output_tokens)
        answer = _known(completion.seconds, counts, cost, self._plan.experiment.json_schema)
        scored = await self._scorer.score(row, completion.text, answer, repeat)
        result = RowResult(
            id=row.id,
            number=row.number,
            line=row.line,
            model=reference.name,
            repeat=repeat,
            values=row.values,
            response=completion.text,
            scores=scored.scores,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            seconds=completion.seconds,
            cost=cost,
            finish_reason=completion.finish_reason,
            digest=rendered.digest,
            problem=self._check.problem(completion.text),
            cached=cached,
            judging=scored.account.to_json() if scored.is_judged else None,
            unscored=scored.unscored,
        )
        account = scored.account
        tokens = (completion.input_tokens or rendered.tokens) + (completion.output_tokens or 0)
        return Asked(
            result,
            None,
            calls=account.calls + (not cached),
            tokens=account.spent_tokens + (0 if cached else tokens),
            cost=(account.paid or 0.0) + (0.0 if cached else cost or 0.0),
            judge_failure=None if account.answered else account.failure,
            judged=account.answered,
        )

    async def score_again(self, row: Row, prior: RowResult) -> Asked:
        """The result of an earlier asking with the scores that it lacks; its model is not asked."""
        answer = _known(
            prior.seconds,
            (prior.input_tokens, prior.output_tokens),
            prior.cost,
            self._plan.experiment.json_schema,
        )
        scored = await self._scorer.score(row, prior.response or "", answer, prior.repeat, prior.unscored)
        account = scored.account
        result = replace(
            prior,
            scores={
                metric.name: scored.scores.get(metric.name) or prior.scores.get(metric.name) or Score(None)
                for metric in self._plan.metrics
            },
            judging=account.after(prior.judging) if scored.is_judged else prior.judging,
            unscored=scored.unscored,
        )
        return Asked(
            result,
            None,
            calls=account.calls,
            tokens=account.spent_tokens,
            cost=account.paid or 0.0,
            judge_failure=None if account.answered else account.failure,
            judged=account.answered,
        )

    async def _answer(self, opened: _Opened, rendered: RenderedRow, repeat: int) -> tuple[Completion, bool]:
        """The model's answer, and whether it came out of the cache."""
        key = opened.keys.key(rendered, repeat) if opened.keys is not None else None
        return await self._answers.answer(
            key, rendered.digest, rendered.messages, lambda: self._complete(opened, rendered, repeat)
        )

    async def _complete(self, opened: _Opened, rendered: RenderedRow, repeat: int) -> Completion:
        experiment = self._plan.experiment
        async with opened.turns:
            return await opened.model.complete(
                rendered.messages,
                parameters=parameters_of(experiment, opened.reference, repeat),
                json_schema=experiment.json_schema,
            )

    def _failed(
        self, row: Row, reference: ModelReference, repeat: int, rendered: RenderedRow, error: str
    ) -> RowResult:
        return RowResult(
            row.id,
            row.number,
            row.line,
            reference.name,
            repeat,
            row.values,
            error=self._mask.mask(error),
            digest=rendered.digest,
        )


def _known(
    seconds: float | None,
    counts: tuple[int | None, int | None],
    cost: float | None,
    output_schema: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What metrics may ask of an answer beside its text; see `metrics.binding.ANSWER_NAMES`."""
    known = [count for count in counts if count is not None]
    return {
        "seconds": seconds,
        "tokens": sum(known) if len(known) == len(counts) else None,
        "cost": cost,
        "output_schema": output_schema,
    }
