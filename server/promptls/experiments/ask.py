"""Asking one model about one row, and scoring what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from promptls.datasets.dataset import Row
from promptls.experiments.answer_cache import AnswerCache, is_worth_keeping
from promptls.experiments.answer_check import AnswerCheck
from promptls.experiments.budget import Expected
from promptls.experiments.definition import Experiment
from promptls.experiments.plan import AnswerKeys, Plan, parameters_of
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.row_result import RowResult, Score
from promptls.metrics.binding import bound_arguments
from promptls.metrics.metric import Metric
from promptls.models.keys import KeyMask, key_mask
from promptls.models.model import Completion, Model, ModelError
from promptls.models.pace import Pace
from promptls.models.prices import Price, is_paid, price_of
from promptls.models.reference import ModelReference
from promptls.models.registry import open_model, opened_model


class Asked(NamedTuple):
    """What one asking came to.

    `failure` is the model's error, where that is why there is no answer; `called` says whether a model was
    asked at all, and `tokens` and `cost` (in US dollars) what was spent on it.
    """

    result: RowResult
    failure: ModelError | None
    called: bool
    tokens: int
    cost: float


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
    mask = key_mask(experiment.models)
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
        yield Asker(plan, models, mask)


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
    stack.push_async_callback(cluster.close)
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

    def __init__(self, plan: Plan, models: Mapping[str, _Opened], mask: KeyMask) -> None:
        self._plan = plan
        self._models = models
        self._mask = mask
        self._cache: AnswerCache | None = plan.cache
        self._check = AnswerCheck(is_json=plan.experiment.output_is_json, schema=plan.experiment.json_schema)
        self._under_way: dict[bytes, asyncio.Event] = {}

    def expected(self, rendered: RenderedRow, reference: ModelReference) -> Expected:
        """What asking about the row will take, as far as that can be known."""
        price = self._models[reference.name].price
        longest = parameters_of(self._plan.experiment, reference, 1).get("max_tokens")
        answer = longest if isinstance(longest, int) else 0
        cost = (price.cost(rendered.tokens, answer) if price else None) or 0.0
        return Expected(rendered.tokens + answer, cost)

    def is_there(self, rendered: RenderedRow, reference: ModelReference, repeat: int) -> bool:
        """Whether the row needs no call: it cannot be rendered, or its answer is in the cache."""
        keys = self._models[reference.name].keys
        if rendered.error is not None:
            return True
        if keys is None or self._cache is None:
            return False
        return self._cache.get(keys.key(rendered, repeat)) is not None

    async def ask(self, row: Row, rendered: RenderedRow, reference: ModelReference, repeat: int) -> Asked:
        """What the asking came to; whatever goes wrong with the row is the result's `error`."""
        if rendered.error is not None:
            failed = self._failed(row, reference, repeat, rendered, rendered.error)
            return Asked(failed, None, called=False, tokens=0, cost=0.0)
        opened = self._models[reference.name]
        try:
            completion, cached = await self._answer(opened, rendered, repeat)
        except ModelError as error:
            failed = self._failed(row, reference, repeat, rendered, error.message)
            return Asked(failed, error, called=True, tokens=0, cost=0.0)
        cost = None
        if opened.price is not None:
            cost = opened.price.cost(completion.input_tokens, completion.output_tokens)
        answer = _known_of(completion, cost, self._plan.experiment.json_schema)
        scores = {
            metric.name: await self._score(metric, row, completion.text, answer)
            for metric in self._plan.metrics
        }
        result = RowResult(
            id=row.id,
            number=row.number,
            line=row.line,
            model=reference.name,
            repeat=repeat,
            values=row.values,
            response=completion.text,
            scores=scores,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            seconds=completion.seconds,
            cost=cost,
            finish_reason=completion.finish_reason,
            digest=rendered.digest,
            problem=self._check.problem(completion.text),
            cached=cached,
        )
        if cached:
            return Asked(result, None, called=False, tokens=0, cost=0.0)
        tokens = (completion.input_tokens or rendered.tokens) + (completion.output_tokens or 0)
        return Asked(result, None, called=True, tokens=tokens, cost=cost or 0.0)

    async def _answer(self, opened: _Opened, rendered: RenderedRow, repeat: int) -> tuple[Completion, bool]:
        """The model's answer, and whether it came out of the cache."""
        if opened.keys is None or self._cache is None:
            return await self._complete(opened, rendered, repeat), False
        key = opened.keys.key(rendered, repeat)
        while (before := self._under_way.get(key)) is not None:
            await before.wait()
        if (kept := self._cache.get(key)) is not None:
            return kept, True
        done = self._under_way[key] = asyncio.Event()
        try:
            completion = await self._complete(opened, rendered, repeat)
            # It is kept before it is scored: what was paid for survives whatever a metric does.
            self._cache.put(key, completion, rendered.digest, rendered.messages)
            return completion, False
        finally:
            del self._under_way[key]
            done.set()

    async def _complete(self, opened: _Opened, rendered: RenderedRow, repeat: int) -> Completion:
        experiment = self._plan.experiment
        async with opened.turns:
            return await opened.model.complete(
                rendered.messages,
                parameters=parameters_of(experiment, opened.reference, repeat),
                json_schema=experiment.json_schema,
            )

    async def _score(self, metric: Metric, row: Row, response: str, answer: Mapping[str, Any]) -> Score:
        experiment = self._plan.experiment
        try:
            arguments = bound_arguments(metric, row.values, response, experiment.output_key, answer)
            result = await asyncio.wait_for(metric.ascore(**arguments), experiment.timeout)
        except asyncio.TimeoutError:
            return Score(None, f"the metric took longer than {experiment.timeout:g} seconds")
        except Exception as error:  # noqa: BLE001 - a row that cannot be scored must not end the run
            return Score(None, self._mask.mask(f"{type(error).__name__}: {error}"))
        reason = None if result.reason is None else self._mask.mask(str(result.reason))
        value = _plain(result.value)
        return Score(self._mask.mask(value) if isinstance(value, str) else value, reason)

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


def _known_of(
    completion: Completion, cost: float | None, output_schema: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What metrics may ask of an answer beside its text; see `metrics.binding.ANSWER_NAMES`."""
    counts = (completion.input_tokens, completion.output_tokens)
    known = [count for count in counts if count is not None]
    return {
        "seconds": completion.seconds,
        "tokens": sum(known) if len(known) == len(counts) else None,
        "cost": cost,
        "output_schema": output_schema,
    }


def _plain(value: Any) -> Any:
    """A value that JSON can carry; numbers of other libraries become Python's."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # NumPy's scalars have this method, and nothing else does.
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)
