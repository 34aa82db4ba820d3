"""Scoring samples with metrics: `evaluate` and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from promptls.api.metric_objects import MetricObject
from promptls.api.model_calls import run_in_own_loop
from promptls.api.ragas_samples import EvaluationDataset
from promptls.metrics.metric import Metric, MetricResult, aggregate
from promptls.text.errors import UsageError

AT_ONCE: Final = 8
"""Number of scores that are computed concurrently."""


class EvaluationResult:
    """The scores of samples: `result["faithfulness"]` lists the scores of one metric in sample order."""

    def __init__(
        self,
        dataset: EvaluationDataset,
        metrics: Sequence[str],
        results: Sequence[Mapping[str, MetricResult]],
    ) -> None:
        self.dataset = dataset
        self.metrics = tuple(metrics)
        self.results = list(results)
        """The results of each sample by metric, including the reasons."""

    @property
    def scores(self) -> list[dict[str, Any]]:
        """The values of each sample by metric; None if there is no score."""
        return [{name: result.value for name, result in row.items()} for row in self.results]

    def __getitem__(self, metric: str) -> list[Any]:
        return [row[metric].value for row in self.results]

    def aggregate(self, how: str | Mapping[str, str] = "mean") -> dict[str, Any]:
        """Return one number for each metric: `mean`, `median`, `mode`, `sum`, `min`, `max`, `stdev`, `count`.

        A mapping sets the aggregation per metric; metrics that it lacks use `mean`, or `mode` for classes.
        """
        found = {}
        for name in self.metrics:
            values = [value for value in self[name] if value is not None]
            is_class = any(isinstance(value, str) for value in values)
            chosen = how.get(name) if isinstance(how, Mapping) else how
            if chosen is None or (is_class and how == "mean"):
                chosen = "mode" if is_class else "mean"
            found[name] = aggregate(values, chosen)
        return found

    def to_pandas(self) -> Any:
        """Return a DataFrame with the samples and their scores; requires pandas."""
        rows = zip(self.dataset.to_list(), self.scores, strict=True)
        return import_module("pandas").DataFrame([{**sample, **scores} for sample, scores in rows])

    def __repr__(self) -> str:
        shown = (f"'{name}': {self._shown(name, value)}" for name, value in self.aggregate().items())
        return "{" + ", ".join(shown) + "}"

    def _shown(self, name: str, value: Any) -> str:
        """Return an aggregated score, or the reason of the first sample if no sample has a score."""
        if value is None and self.results:
            return f"None ({self.results[0][name].reason})"
        return f"{value:.4f}" if isinstance(value, float) else repr(value)


async def aevaluate(
    dataset: EvaluationDataset | Iterable[Mapping[str, Any]],
    metrics: Sequence[Any],
    *,
    llm: Any = None,
    embeddings: Any = None,
    at_once: int = AT_ONCE,
) -> EvaluationResult:
    """Score all samples with all metrics, which are objects of `promptls.metrics`.

    `llm` and `embeddings` are defaults for metrics without models of their own. A score that cannot be
    computed is a result without a value. Raises UsageError for an object that is not a metric, and TypeError
    if a sample lacks an argument of a metric.
    """
    samples = dataset if isinstance(dataset, EvaluationDataset) else EvaluationDataset(dataset)
    chosen = [_as_object(metric) for metric in metrics]
    places = asyncio.Semaphore(at_once)

    async def scored(metric: MetricObject, sample: Any) -> MetricResult:
        arguments = metric.arguments_of(sample)
        if metric.llm is None and llm is not None:
            arguments["llm"] = llm
        if metric.embeddings is None and embeddings is not None:
            arguments["embeddings"] = embeddings
        async with places:
            return await metric.ascore(**arguments)

    rows = await asyncio.gather(
        *(asyncio.gather(*(scored(metric, sample) for metric in chosen)) for sample in samples)
    )
    names = [metric.name for metric in chosen]
    return EvaluationResult(samples, names, [dict(zip(names, row, strict=True)) for row in rows])


def evaluate(
    dataset: EvaluationDataset | Iterable[Mapping[str, Any]],
    metrics: Sequence[Any],
    *,
    llm: Any = None,
    embeddings: Any = None,
    at_once: int = AT_ONCE,
) -> EvaluationResult:
    """Run `aevaluate` synchronously, also inside a running event loop."""
    return run_in_own_loop(
        lambda: aevaluate(dataset, metrics, llm=llm, embeddings=embeddings, at_once=at_once)
    )


def _as_object(metric: Any) -> MetricObject:
    if isinstance(metric, MetricObject):
        return metric
    if isinstance(metric, Metric):
        return MetricObject(metric)
    if isinstance(metric, type) and issubclass(metric, MetricObject):
        raise UsageError(f"`{metric.__name__}` is a class", remedy=f"write `{metric.__name__}()`")
    raise UsageError(f"{type(metric).__name__} is not a metric", remedy="take one of `promptls.metrics`")
