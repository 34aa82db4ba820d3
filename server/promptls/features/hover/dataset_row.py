"""A row of a data set: what the last runs of the experiments over it made of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from promptls.features.experiment_runs import ExperimentRuns
from promptls.features.hover.result import result_text


class RowHover(NamedTuple):
    """What is known of a row that begins on the line `line` and ends before the line `end`, both from 0."""

    line: int
    end: int
    markdown: str


def hover_row(dataset: Path, line: int, runs: Iterable[ExperimentRuns]) -> RowHover | None:
    """What `runs` say of the row of the data set that `line`, from 0, is a part of; None for nothing.

    Runs over another data set, or over this one before it was changed, say nothing.
    """
    from promptls.datasets.known import row_lines

    lines = row_lines(dataset)
    numbers = list(lines)
    place = bisect_right(list(lines.values()), line) - 1
    if place < 0:
        return None
    number = numbers[place]
    texts = [text for each in runs if (text := _text(dataset, number, each)) is not None]
    end = lines[numbers[place + 1]] if place + 1 < len(numbers) else lines[number] + 1
    return RowHover(lines[number], end, "\n\n".join([f"row {number}", *texts])) if texts else None


def _text(dataset: Path, number: int, runs: ExperimentRuns) -> str | None:
    """The newest results of the row in the runs of one experiment."""
    from promptls.experiments.example_choice import is_of_examples
    from promptls.experiments.example_results import known_table
    from promptls.experiments.failed_rows import unchanged_dataset

    for run in runs.newest_first:
        if is_of_examples(run.rows_chosen) or unchanged_dataset(run) != dataset:
            continue
        found = [cells for cells in known_table(run).rows if cells.get("row_number") == str(number)]
        if found:
            return "\n\n".join(result_text(run, cells, runs.name) for cells in found)
    return None
