"""Estimates of the usage of models and judges, made before a run.

Built-in metrics and those of Ragas score a sample of rows for this, with cached responses or made-up
ones. The user's own metrics are not run, since they may have side effects.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from promptls.datasets.dataset_files import Row
from promptls.experiments.answer_cache import AnswerCache
from promptls.experiments.experiment import Experiment
from promptls.experiments.judging import ABOUT_TOKENS, MetricAsks, judge_key
from promptls.experiments.row_rendering import RenderedRows
from promptls.metrics.builtin_metrics import BUILTIN_METRICS
from promptls.metrics.grading import EMBEDDER, JUDGE
from promptls.metrics.metric import Metric
from promptls.metrics.metric_loading import bound_arguments
from promptls.models.model import ModelReference
from promptls.models.providers import is_paid, price_of


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The estimated usage of a model: calls, prompt tokens, and US dollars.

    `cached` answers need no call. `prompt_cost` is the cost of the prompts alone, `longest_cost` that with
    answers of `max_tokens` each; None if the price or the maximum length is unknown. `paid` says whether
    calls may cost money.
    """

    model: str
    calls: int
    cached: int
    tokens: int
    paid: bool
    prompt_cost: float | None
    longest_cost: float | None


def estimate_of(
    model: ModelReference, calls: int, cached: int, tokens: int, longest: object
) -> ModelEstimate:
    """Return the estimate for these calls and prompt tokens; `longest` is the parameter `max_tokens`."""
    price = price_of(model)
    paid = is_paid(model)
    with_answers = None
    if paid and isinstance(longest, int) and price.output is not None:
        with_answers = price.cost(tokens, calls * longest)
    of_prompts = price.cost(tokens, None) if paid else None
    return ModelEstimate(model.name, calls, cached, tokens, paid, of_prompts, with_answers)


MAX_ROWS: Final = 24
"""Maximum number of sampled rows; the others are assumed to be similar."""

_UNKNOWN_RESPONSE: Final = "This stands for a response of some sentences. " * 8

_ITEMS: Final = 2
"""Length of made-up lists: two, so that requests per item occur more than once."""

Count = Callable[[Sequence[str]], Awaitable[Sequence[int]]]
Response = Callable[[int], str | None]
"""Returns the cached response of a row, by the row's index; None if there is none."""


@dataclass(slots=True)
class MeasuredUsage:
    """The average usage of a metric per response: calls, cached answers, and tokens."""

    calls: float = 0.0
    cached: float = 0.0
    tokens: float = 0.0
    embedded: float = 0.0
    embedded_tokens: float = 0.0


async def measure_requests(
    experiment: Experiment,
    metrics: Sequence[Metric],
    asks: Mapping[str, MetricAsks],
    rows: RenderedRows,
    response: Response,
    cache: AnswerCache | None,
    count: Count,
) -> dict[str, MeasuredUsage]:
    """Measure the requests per response of each metric that uses models, by name; no model is called."""
    found = {}
    for metric in metrics:
        if (each := asks.get(metric.name)) is None:
            continue
        named = experiment.named_metrics.get(metric.name)
        if (named.use if named else metric.name) in BUILTIN_METRICS:
            found[metric.name] = await _measure(experiment, metric, each, rows, response, cache, count)
        else:
            found[metric.name] = MeasuredUsage(each.calls, 0.0, each.tokens)
    return found


def with_measures(
    asks: Mapping[str, MetricAsks], found: Mapping[str, MeasuredUsage]
) -> dict[str, MetricAsks]:
    """Return the usage of metrics, with defaults replaced by measured values."""
    return {
        name: each._replace(
            calls=math.ceil(found[name].calls + found[name].embedded),
            tokens=math.ceil(found[name].tokens + found[name].embedded_tokens),
        )
        if name in found
        else each
        for name, each in asks.items()
    }


def judge_estimates(
    asks: Mapping[str, MetricAsks], found: Mapping[str, MeasuredUsage], answers: int
) -> Iterator[ModelEstimate]:
    """Yield the estimate of each judge and each embedder for scoring this many responses."""
    models: dict[str, ModelReference] = {}
    taken: dict[str, Counter[str]] = {}
    for name, each in asks.items():
        one = found[name]
        for model, calls, cached, tokens in (
            (each.judge, one.calls, one.cached, one.tokens),
            (each.embedder, one.embedded, 0.0, one.embedded_tokens),
        ):
            if model is None or not calls + cached:
                continue
            models[model.name] = model
            sums = taken.setdefault(model.name, Counter())
            sums["calls"] += round(calls * answers)
            sums["cached"] += round(cached * answers)
            sums["tokens"] += round(tokens * answers)
    for name, model in models.items():
        sums = taken[name]
        longest = model.parameters.get("max_tokens")
        yield estimate_of(model, sums["calls"], sums["cached"], sums["tokens"], longest)


async def _measure(
    experiment: Experiment,
    metric: Metric,
    asks: MetricAsks,
    rows: RenderedRows,
    response: Response,
    cache: AnswerCache | None,
    count: Count,
) -> MeasuredUsage:
    judge = _Judge(asks.judge, cache)
    embedder = _Embedder(asks.embedder)
    models: dict[str, Any] = {JUDGE: judge} if asks.judge is not None else {}
    if asks.embedder is not None:
        models[EMBEDDER] = embedder
    scored = 0
    for index in _spread(len(rows)):
        row, rendered = rows[index]
        if rendered.error is not None:
            continue
        scored += 1
        text = response(index)
        arguments = bound_arguments(
            metric,
            row.values,
            _stand_in_response(experiment, row) if text is None else text,
            experiment.output_key,
            {"output_schema": experiment.json_schema},
        )
        await metric.ascore(**arguments, **models)
    if not scored:
        return MeasuredUsage()
    if not judge.questions and not judge.cached and asks.judge is not None:
        # No request was made: a package is missing, or the rows lack required values.
        return MeasuredUsage(asks.calls, 0.0, asks.calls * ABOUT_TOKENS)
    return MeasuredUsage(
        len(judge.questions) / scored,
        judge.cached / scored,
        sum(await count(judge.questions)) / scored,
        len(embedder.texts) / scored,
        sum(await count(embedder.texts)) / scored,
    )


def _spread(count: int) -> Iterator[int]:
    step = max(1, math.ceil(count / MAX_ROWS))
    return iter(range(0, count, step))


def _stand_in_response(experiment: Experiment, row: Row) -> str:
    expected = row.values.get(experiment.output_key or "")
    return expected if isinstance(expected, str) and expected else _UNKNOWN_RESPONSE


@dataclass(slots=True)
class _Judge:
    """A judge that records requests, and returns cached answers or made-up ones that fit the schema."""

    reference: ModelReference | None
    cache: AnswerCache | None
    questions: list[str] = field(default_factory=list)
    cached: int = 0

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        assert self.reference is not None
        key = judge_key(self.reference, messages, json_schema, sample, 1)
        if self.cache is not None and key is not None and (cached := self.cache.get(key)) is not None:
            self.cached += 1
            return cached.text
        schema = json.dumps(json_schema, ensure_ascii=False)
        self.questions.append("\n".join([*(str(each["content"]) for each in messages), schema]))
        return json.dumps(fitting(json_schema), ensure_ascii=False)


@dataclass(slots=True)
class _Embedder:
    reference: ModelReference | None
    texts: list[str] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        assert self.reference is not None
        if self.reference.provider != "local":
            self.texts += texts
        return [[1.0, 0.0] for _ in texts]


def fitting(schema: Mapping[str, Any]) -> Any:
    """Return a value that is valid for a JSON Schema generated by pydantic."""
    return _fitting(schema, schema, 0)


def _fitting(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(step, {}) if isinstance(target, Mapping) else {}
        return _fitting(target, root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _fitting(schema[key][0], root, depth + 1)
    return _of_type(schema, root, depth)


_DEEPEST: Final = 20


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        return {
            name: _fitting(each, root, depth + 1) for name, each in (schema.get("properties") or {}).items()
        }
    if kind == "array":
        return [_fitting(schema.get("items") or {}, root, depth + 1)] * max(_ITEMS, schema.get("minItems", 0))
    plain = {"string": "A sentence of some words.", "boolean": True, "integer": 1, "number": 1.0}
    value = plain.get(str(kind))
    return schema.get("minimum", value) if kind in {"integer", "number"} else value
