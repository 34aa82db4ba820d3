"""Which models the metrics of an experiment ask, and what asking them takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.experiments.answer_cache import answer_key, is_worth_keeping, key_prefix
from promptls.metrics.binding import asks_for
from promptls.metrics.grading import EMBEDDER, EMBEDDINGS, JUDGE
from promptls.metrics.metric import Metric
from promptls.metrics.registry import BUILTIN_METRICS, judge_calls
from promptls.models.embedding import check_embeddings, find_embeddings
from promptls.models.model import ModelReference
from promptls.models.registry import check_model, find_model
from promptls.text.errors import FilePlace, UsageError
from promptls.workspace.python_functions import functions_in

if TYPE_CHECKING:
    from pathlib import Path

    from promptls.experiments.experiment import Experiment
    from promptls.settings.header import NamedMetric
    from promptls.settings.project import Project

# Models of OpenAI that reason refuse to be given a temperature.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-5)")

_DECORATORS = frozenset({"discrete_metric", "numeric_metric", "ranking_metric"})
"""What may decorate a metric's function without changing what it takes."""

ABOUT_TOKENS = 400
"""Tokens of a question to a judge, as far as anything is known of it before the response is there."""


class MetricAsks(NamedTuple):
    """What one metric asks.

    `calls` is about how often it asks for one response, and `tokens` what its questions then have.
    """

    judge: ModelReference | None
    embedder: ModelReference | None
    calls: int
    tokens: int


@dataclass(slots=True)
class JudgeAccount:
    """What the judges of one response took.

    `calls` were made and `cached` answers were there; tokens and `cost` (US dollars, None if no price is
    known) are those of all of them, `spent_tokens` and `paid` those of the calls.
    """

    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = None
    paid: float | None = None
    spent_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return what it came to, as JSON."""
        return {name: getattr(self, name) for name in ("calls", "cached", "tokens", "cost", "paid")}

    def after(self, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what it came to together with what was taken `before`, as JSON."""
        both = self.to_json()
        for name, value in (before or {}).items():
            if value is not None:
                both[name] = (both.get(name) or 0) + value
        return both

    def add(self, *, cached: bool, tokens: int, cost: float | None) -> None:
        """One answer more."""
        self.spent_tokens += 0 if cached else tokens
        self.calls += not cached
        self.cached += cached
        self.tokens += tokens
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
            self.paid = (self.paid or 0.0) + (0.0 if cached else cost)


def judging_models(
    metrics: Sequence[str],
    named: Mapping[str, NamedMetric],
    settings: Project,
    root: Path,
    base: Path,
) -> tuple[dict[str, ModelReference], dict[str, ModelReference]]:
    """Return the models that judge for these metrics, and those that make embeddings, by their names.

    Paths count from the project's `root` for models that it names, else from `base`. Raises
    `UsageError` for a model that is unknown.
    """
    chosen = [named[name] for name in metrics if name in named]
    judges = [settings.judge, *(metric.model for metric in chosen)]
    makers = [metric.options.get(EMBEDDINGS) for metric in chosen]
    models = settings.models
    return (
        {name: find_model(name, models, root if name in models else base) for name in judges if name},
        {
            str(name): find_embeddings(str(name), models, root if name in models else base)
            for name in makers
            if name
        },
    )


def may_be_asked(experiment: Experiment) -> list[ModelReference]:
    """Return the models that the experiment may ask, found by reading: no file of the user's is run.

    A judge counts unless it is certain that no metric asks it.
    """
    chosen: list[ModelReference] = [*experiment.models]
    for name in experiment.metrics:
        named = experiment.named_metrics.get(name)
        judge = named.model if named and named.model else experiment.judge
        if judge is not None and _may_ask_judge(named.use if named else name, experiment.base):
            chosen.append(experiment.judges[judge])
        if named and (maker := named.options.get(EMBEDDINGS)):
            chosen.append(experiment.embedders[str(maker)])
    return [each for number, each in enumerate(chosen) if each not in chosen[:number]]


def _may_ask_judge(use: str, base: Path) -> bool:
    file, colon, attribute = use.rpartition(":")
    if not colon or not file.endswith(".py"):
        ready = BUILTIN_METRICS.get(use)
        return ready is None or JUDGE in asks_for(ready)
    for function in functions_in(str(base / file)) or ():
        # Of a name that is assigned, the parameters are not known.
        if function.name == attribute and function.parameters and set(function.decorators) <= _DECORATORS:
            return any(
                each.name == JUDGE or each.kind not in {"any", "keyword"} for each in function.parameters
            )
    return True


def asked_models(asks: Mapping[str, MetricAsks]) -> list[ModelReference]:
    """Return the models that metrics ask."""
    return [model for each in asks.values() for model in (each.judge, each.embedder) if model is not None]


def asked_by(experiment: Experiment, metrics: Iterable[Metric]) -> dict[str, MetricAsks]:
    """Return what the metrics ask, by their names, without those that ask nothing.

    Raises `UsageError` with what to set for one that has no judge, and `ModelError` for a model
    that cannot be had; nothing is asked.
    """
    found = {}
    for metric in metrics:
        wanted = asks_for(metric)
        if not wanted:
            continue
        judge = _judge_of(metric, experiment) if JUDGE in wanted else None
        embedder = None
        if EMBEDDER in wanted:
            name = metric.options.get(EMBEDDINGS)
            embedder = experiment.embedders[str(name)] if name else find_embeddings(None)
            check_embeddings(embedder)
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
    """Return the key of a judge's answer in the cache; None for a judge whose answers are not kept."""
    if not is_worth_keeping(reference):
        return None
    # A response to a repeat is judged for itself, as a sample is.
    prefix = key_prefix(reference, judge_parameters(reference, sample), json_schema)
    return answer_key(prefix + f"judge {sample}".encode(), messages, repeat)


def judge_parameters(reference: ModelReference, sample: int) -> dict[str, Any]:
    """Return the request options: temperature 0 for the first sample, the model's own for further ones."""
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
    check_model(judge)
    return judge
