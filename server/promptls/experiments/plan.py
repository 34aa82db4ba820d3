"""The plan of a run: what it would do, determined without calling any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from promptls.datasets.dataset_files import DatasetFile, open_dataset
from promptls.experiments.answer_cache import AnswerCache, answer_key, is_cacheable, key_prefix
from promptls.experiments.estimate import (
    ModelEstimate,
    estimate_of,
    judge_estimates,
    measure_requests,
    with_measures,
)
from promptls.experiments.experiment import Experiment
from promptls.experiments.judging import MetricAsks, judging_references, model_usage
from promptls.experiments.row_choice import ALL_ROWS, RowChoice, is_of_examples
from promptls.experiments.row_rendering import RenderedRow, RenderedRows, RowRenderer, row_renderer
from promptls.metrics.metric import Metric
from promptls.metrics.metric_loading import check_binding, load_metric
from promptls.models.keys import missing_among, ray_grants
from promptls.models.model import ModelReference
from promptls.models.opening import check_model
from promptls.models.ray_cluster import check_cluster
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean

IsThere = Callable[[int, str, int, str], bool]
"""Returns whether a run has an answer, by row number, model name, repeat and digest of the row."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment that is ready to run: rows are readable, metrics loaded, and models available.

    `rendered` are the selected rows with their messages.
    """

    experiment: Experiment
    dataset: DatasetFile
    metrics: tuple[Metric, ...]
    choice: RowChoice
    rendered: RenderedRows
    estimates: tuple[ModelEstimate, ...]
    cache: AnswerCache | None
    asks: Mapping[str, MetricAsks] = field(default_factory=dict)
    """The model usage of metrics, by name."""

    @property
    def rows(self) -> int:
        """The number of rows of the run."""
        return len(self.rendered)

    @property
    def files(self) -> tuple[str, ...]:
        """The prompt file and all that it includes."""
        return tuple(dict.fromkeys((str(self.experiment.prompt), *self.rendered.files)))

    @property
    def results(self) -> int:
        """The number of results: rows x models x repeats."""
        return self.rows * len(self.experiment.models) * self.experiment.repeats

    @property
    def calls(self) -> int:
        """The number of model calls, excluding cached answers."""
        return sum(estimate.calls for estimate in self.estimates)

    @property
    def judging(self) -> int:
        """The number of calls by metrics to judges and embedders."""
        return sum(estimate.calls for estimate in self.estimates[len(self.experiment.models) :])

    @property
    def cached(self) -> int:
        """The number of cached answers."""
        return sum(estimate.cached for estimate in self.estimates)

    @property
    def digests(self) -> tuple[str, ...]:
        """The hashes of the rendered rows, in order; empty for failed rows."""
        return tuple(rendered.digest for _, rendered in self.rendered)

    def close(self) -> None:
        """Delete the plan's temporary files and close its cache."""
        self.rendered.close()
        if self.cache is not None:
            self.cache.close()


async def plan_run(
    experiment: Experiment,
    rows: RowChoice | int | None = None,
    renderer: RowRenderer | None = None,
    *,
    since: float | None = None,
    is_there: IsThere | None = None,
) -> Plan:
    """Return the plan of a run over the selected rows, the first `rows` ones, or all of them.

    Each of them is rendered. An open `renderer` of the experiment is used if passed. With `since`, a Unix
    timestamp, older cached answers are ignored; new ones are cached in any case. Results for which
    `is_there` returns True belong to a resumed run: they are neither calls nor cached.

    Raises `UsageError` for errors in the request (a missing file, metric or column) and `UserError` for
    errors in the environment (a model that is not installed, a line that cannot be read).
    """
    dataset = open_dataset(experiment.dataset)
    _check_columns(experiment, dataset)
    metrics = _metrics(experiment, dataset)
    _check_available(experiment)
    asks = model_usage(experiment, metrics)
    choice = _choice(rows, dataset)
    cache = None
    if any(map(is_cacheable, [*experiment.models, *judging_references(asks)])):
        cache = AnswerCache(experiment.folder, since=since)
    counters = [_Counter(experiment, model, cache, is_there) for model in experiment.models]
    rendered_rows = RenderedRows()
    async with row_renderer(experiment, renderer) as opened:
        async for row, rendered in opened.render_all(choice.of(dataset.rows())):
            rendered_rows.append(row, rendered)
            for counter in counters if rendered.error is None else ():
                counter.add(row.number, rendered)
        if not len(rendered_rows):
            raise _no_rows(dataset, choice)
        found = await measure_requests(
            experiment,
            metrics,
            asks,
            rendered_rows,
            lambda index: _cached_answer(counters, rendered_rows[index][1]),
            cache,
            opened.count,
        )
    judging = judge_estimates(asks, found, sum(counter.answers for counter in counters))
    return Plan(
        experiment=experiment,
        dataset=dataset,
        metrics=metrics,
        choice=choice,
        rendered=rendered_rows,
        estimates=(*(counter.estimate() for counter in counters), *judging),
        cache=cache,
        asks=with_measures(asks, found),
    )


def parameters_of(experiment: Experiment, model: ModelReference, repeat: int) -> dict[str, Any]:
    """Return the request parameters; with a seed, each repeat uses the next seed."""
    parameters = {**model.parameters, **experiment.parameters}
    if isinstance(seed := parameters.get("seed"), int):
        parameters["seed"] = seed + repeat - 1
    return parameters


class AnswerKeys:
    """The cache keys of a model's answers in an experiment."""

    def __init__(self, experiment: Experiment, model: ModelReference) -> None:
        self._prefixes = [
            key_prefix(model, parameters_of(experiment, model, repeat), experiment.json_schema)
            for repeat in range(1, experiment.repeats + 1)
        ]

    def key(self, rendered: RenderedRow, repeat: int) -> bytes:
        """Return the key of the answer to a rendered row."""
        return answer_key(self._prefixes[repeat - 1], rendered.messages, repeat)


class _Counter:
    def __init__(
        self,
        experiment: Experiment,
        model: ModelReference,
        cache: AnswerCache | None,
        is_there: IsThere | None,
    ) -> None:
        self._experiment = experiment
        self._is_there = is_there
        self._model = model
        self._cache = cache if is_cacheable(model) else None
        self._keys = AnswerKeys(experiment, model) if self._cache is not None else None
        self._seen: set[bytes] = set()
        self._calls = 0
        self._cached = 0
        self._tokens = 0

    def add(self, number: int, rendered: RenderedRow) -> None:
        for repeat in range(1, self._experiment.repeats + 1):
            if self._is_there is not None and self._is_there(
                number, self._model.name, repeat, rendered.digest
            ):
                continue
            if self._is_cached(rendered, repeat):
                self._cached += 1
            else:
                self._calls += 1
                self._tokens += rendered.tokens

    def _is_cached(self, rendered: RenderedRow, repeat: int) -> bool:
        if self._cache is None or self._keys is None:
            return False
        key = self._keys.key(rendered, repeat)
        # Identically rendered rows share the first one's answer.
        if key in self._seen:
            return True
        self._seen.add(key)
        return self._cache.get(key) is not None

    @property
    def answers(self) -> int:
        """Return the number of answers to score."""
        return self._calls + self._cached

    def cached_answer(self, rendered: RenderedRow) -> str | None:
        """Return the first cached answer to a row."""
        if self._cache is None or self._keys is None:
            return None
        answer = self._cache.get(self._keys.key(rendered, 1))
        return None if answer is None else answer.text

    def estimate(self) -> ModelEstimate:
        longest = parameters_of(self._experiment, self._model, 1).get("max_tokens")
        return estimate_of(self._model, self._calls, self._cached, self._tokens, longest)


def _cached_answer(counters: Iterable[_Counter], rendered: RenderedRow) -> str | None:
    """Return the cached answer to a row of the first model that has one."""
    answers = (each.cached_answer(rendered) for each in counters)
    return next((answer for answer in answers if answer is not None), None)


def _metrics(experiment: Experiment, dataset: DatasetFile) -> tuple[Metric, ...]:
    """Return the experiment's metrics; raises UsageError if the dataset lacks a column of one."""
    metrics = tuple(
        load_metric(name, experiment.base, experiment.named_metrics) for name in experiment.metrics
    )
    names = [metric.name for metric in metrics]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two metrics are named `{twice}`", remedy="rename one of them, or leave it out")
    try:
        for metric in metrics:
            check_binding(metric, dataset.columns, experiment.output_key)
    except UsageError as error:
        raise UsageError(error.message, FilePlace(dataset.path, 0), error.remedy) from None
    return metrics


def _check_available(experiment: Experiment) -> None:
    """Raise UserError if a model is not available, or the cluster that the user allows to be used."""
    for model in experiment.models:
        check_model(model)
    if experiment.engine == "ray" and not (
        experiment.ray_from_project and missing_among(ray_grants(experiment.ray_address, ()))
    ):
        check_cluster(experiment.ray_address)


def _choice(rows: RowChoice | int | None, dataset: DatasetFile) -> RowChoice:
    """Return the choice of rows: all rows, if none is left out."""
    choice = RowChoice(str(rows), first=rows) if isinstance(rows, int) else rows or ALL_ROWS
    if not choice.text or is_of_examples(choice.text):
        return choice
    pairs = zip_longest(dataset.rows(), choice.of(dataset.rows(), dataset.path))
    leaves_out = any(chosen is None or row.number != chosen.number for row, chosen in pairs)
    return choice if leaves_out else ALL_ROWS


def _no_rows(dataset: DatasetFile, choice: RowChoice) -> UsageError:
    if choice.text:
        return UsageError(
            f"no row of the dataset is chosen by `{choice.text}`",
            FilePlace(dataset.path),
            "choose other rows, or leave out `--rows`",
        )
    return UsageError(
        "the dataset has no rows", FilePlace(dataset.path), "add rows below the line with the names"
    )


def _check_columns(experiment: Experiment, dataset: DatasetFile) -> None:
    for name in experiment.input_keys:
        if name not in dataset.columns and name not in experiment.input_defaults:
            listed = in_code(dataset.columns)
            (first, *others) = dataset.columns
            if not others and name in re.split(r"[;\t|]", first):
                raise UsageError(
                    "the dataset has one column, whose name looks like several",
                    FilePlace(dataset.path, 0),
                    "separate the cells with commas: a spreadsheet program exports them as `CSV (comma)`",
                )
            raise UsageError(
                f"the dataset has no column `{name}`, which is an input of the prompt"
                f"{did_you_mean(name, dataset.columns)}",
                FilePlace(dataset.path, 0),
                f"rename a column (there are {listed}), or give the input a `default` in `input_keys`",
            )
