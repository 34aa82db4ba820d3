"""What a run would do, found out before any model is asked: it costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from promptls.datasets.dataset import Dataset, Row
from promptls.datasets.registry import open_dataset
from promptls.experiments.definition import Experiment
from promptls.experiments.row_rendering import RowRenderer, row_renderer
from promptls.metrics.binding import check_binding
from promptls.metrics.loading import load_metric
from promptls.metrics.metric import Metric
from promptls.models.registry import check_model
from promptls.text.failure import FilePlace, WrongUse
from promptls.text.nearest import did_you_mean


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row that does not render; `line` is its line in the data set, from 0."""

    number: int
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment that can be run: its rows are readable, its metrics loaded, its models there.

    `digests` are the hashes of the rendered rows in the data set's order, empty for a row that
    fails; `input_tokens` counts one asking of every row; `files` are the prompt's own and all that
    it includes.
    """

    experiment: Experiment
    dataset: Dataset
    metrics: tuple[Metric, ...]
    row_limit: int | None
    digests: tuple[str, ...]
    failing: tuple[FailingRow, ...]
    input_tokens: int
    files: tuple[str, ...]

    @property
    def results(self) -> int:
        """How many results the run has: rows x models x repeats."""
        return len(self.digests) * len(self.experiment.models) * self.experiment.repeats

    @property
    def calls(self) -> int:
        """How often a model is asked."""
        rows = len(self.digests) - len(self.failing)
        return rows * len(self.experiment.models) * self.experiment.repeats

    def rows(self) -> Iterator[Row]:
        """The rows of the run, read again from the data set."""
        return islice(self.dataset.rows(), self.row_limit)


async def plan_run(
    experiment: Experiment, row_limit: int | None = None, renderer: RowRenderer | None = None
) -> Plan:
    """The plan of a run over the first `row_limit` rows, or all of them; every row is rendered.

    An open `renderer` of the experiment is used where there is one.

    Raises `WrongUse` for what can never run (a missing file, metric or column) and `Failure` for
    what cannot run now (a model that is not installed, a line that cannot be read).
    """
    dataset = open_dataset(experiment.dataset)
    _check_columns(experiment, dataset)
    metrics = tuple(load_metric(name, experiment.base) for name in experiment.metrics)
    for metric in metrics:
        check_binding(metric, dataset.columns, experiment.output_key)
    for model in experiment.models:
        check_model(model)
    digests: list[str] = []
    failing: list[FailingRow] = []
    files = {str(experiment.prompt): None}
    tokens = 0
    async with row_renderer(experiment, renderer) as opened:
        for row in islice(dataset.rows(), row_limit):
            rendered = await opened.render(row)
            digests.append(rendered.digest)
            tokens += rendered.tokens
            files.update(dict.fromkeys(rendered.files))
            if rendered.error is not None:
                failing.append(FailingRow(row.number, row.line, rendered.error))
    if not digests:
        raise WrongUse(
            "the data set has no rows", FilePlace(dataset.path), "add rows below the line with the names"
        )
    return Plan(experiment, dataset, metrics, row_limit, tuple(digests), tuple(failing), tokens, tuple(files))


def _check_columns(experiment: Experiment, dataset: Dataset) -> None:
    for name in experiment.input_keys:
        if name not in dataset.columns and name not in experiment.input_defaults:
            listed = ", ".join(f"`{column}`" for column in dataset.columns)
            raise WrongUse(
                f"the data set has no column `{name}`, which is an input of the prompt"
                f"{did_you_mean(name, dataset.columns)}",
                FilePlace(dataset.path, 0),
                f"rename a column (there are {listed}), or give the input a `default` in `input_keys`",
            )
