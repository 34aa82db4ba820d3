"""The models, judges and embedders of a plan, opened once for a whole run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from promptls.experiments.answer_cache import SharedAnswers, is_worth_keeping
from promptls.experiments.ask import Asker, OpenModel
from promptls.experiments.experiment import Experiment
from promptls.experiments.judges import Judges, OpenEmbedder, OpenJudge
from promptls.experiments.judging import asked_models
from promptls.experiments.plan import AnswerKeys, Plan
from promptls.experiments.under_way import ResultCallNote
from promptls.models.embedding import MINILM, open_embeddings
from promptls.models.keys import KeyMask, key_mask
from promptls.models.model import ModelReference
from promptls.models.prices import is_paid, price_of
from promptls.models.registry import open_model, opened_model
from promptls.models.steady import Pace

if TYPE_CHECKING:
    from promptls.models.ray_cluster import RayCluster, RayModel


@asynccontextmanager
async def opened_models(plan: Plan, note: ResultCallNote) -> AsyncIterator[Asker]:
    """Provide an asker for the plan's models: opens each once, and closes all at the end.

    `note` is told of each call that may cost money, right before it is made.
    """
    experiment = plan.experiment
    mask = key_mask([*experiment.models, *asked_models(plan.asks)])
    paces: dict[str, Pace] = {}
    async with AsyncExitStack() as stack:
        cluster = await _cluster(plan, stack)
        opened = opened_model if cluster is None else partial(_on_cluster, cluster)
        models: dict[str, OpenModel] = {}
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
            models[reference.name] = OpenModel(
                reference,
                model,
                asyncio.Semaphore(model.max_at_once or experiment.concurrency),
                AnswerKeys(experiment, reference) if keeps else None,
                price_of(reference) if is_paid(reference) else None,
            )
        answers = SharedAnswers(plan.cache, experiment.timeout)
        judges = await _judges(plan, answers, models, paces, mask, stack, cluster)
        yield Asker(plan, models, judges, answers, mask, note)


async def _judges(
    plan: Plan,
    answers: SharedAnswers,
    models: Mapping[str, OpenModel],
    paces: dict[str, Pace],
    mask: KeyMask,
    stack: AsyncExitStack,
    cluster: RayCluster | None,
) -> Judges:
    """Return what the metrics ask; a judge that is one of the models as well keeps to the same limits."""
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
                judge,
                pace=_pace(experiment, judge, paces),
                mask=mask,
                timeout=experiment.timeout,
                opened=opened_model if cluster is None else partial(_on_cluster, cluster),
            )
            stack.push_async_callback(model.close)
            turns = asyncio.Semaphore(model.max_at_once or experiment.concurrency)
            judges[judge.name] = OpenJudge(judge, model, turns, price)
        if (embedder := asks.embedder) is not None and embedder.name not in embedders:
            pace = _pace(experiment, embedder, paces)
            is_here = embedder.provider == "local"
            opened = open_embeddings(
                embedder,
                pace=pace,
                mask=mask,
                timeout=experiment.timeout,
                opened=None if cluster is None or is_here else _on_cluster(cluster, embedder),
            )
            stack.push_async_callback(opened.close)
            price = price_of(embedder) if is_paid(embedder) else None
            embedders[embedder.name] = OpenEmbedder(embedder, opened, price)
    return Judges(answers, judges, embedders)


async def _cluster(plan: Plan, stack: AsyncExitStack) -> RayCluster | None:
    """Return the cluster whose nodes hold the models, where the engine says so; judges and embedders as well.

    Retries, pace, cache and scores stay in this process, and so are the same for both engines. Embeddings
    of the model on this machine are made here, where their texts are.
    """
    experiment = plan.experiment
    if experiment.engine == "local" or not plan.calls:
        return None
    from promptls.models.ray_cluster import connected_cluster

    asked = (each for each in asked_models(plan.asks) if (each.provider, each.model) != ("local", MINILM))
    references = {each.name: each for each in (*experiment.models, *asked)}
    most = min(experiment.concurrency, plan.results)
    cluster = await connected_cluster(
        list(references.values()), experiment.ray_address, most, from_project=experiment.ray_from_project
    )

    async def close(error: type[BaseException] | None, *_: object) -> None:
        await cluster.close(at_once=error is not None)

    stack.push_async_exit(close)
    return cluster


def _on_cluster(cluster: RayCluster, reference: ModelReference) -> RayModel:
    from promptls.models.ray_cluster import RayModel

    return RayModel(cluster, reference.name)


def _pace(experiment: Experiment, reference: ModelReference, paces: dict[str, Pace]) -> Pace:
    """Return the model's rate limiter: its own, or the one it shares with the provider's other models."""
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
