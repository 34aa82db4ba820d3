"""The last run of an experiment over all its rows, and what was run of it since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from promptls.experiments.example_choice import is_of_examples
from promptls.experiments.history import RunSummary, runs_of

# Runs that are looked through for one over all rows.
LOOKED_BACK = 20

# Runs over some rows whose verdicts take the place of older ones.
MAX_LATER = 5


class LastRuns(NamedTuple):
    """`scored` is the run whose scores count: the newest over all rows, with the one before it as `previous`.

    Where no run went over all rows, it is the newest over some. `later` are newer ones, over some rows or
    over the prompt's examples, the newest first. `scored` is None before the first run over rows.
    """

    scored: RunSummary | None
    later: tuple[RunSummary, ...]

    @property
    def newest_first(self) -> tuple[RunSummary, ...]:
        """All of them, the newest first."""
        return (*self.later, *([self.scored] if self.scored is not None else []))


def last_runs(prompt: Path, experiment: str, *, unsaved: Mapping[str, str] | None = None) -> LastRuns:
    """Return the last runs of the prompt file's experiment.

    A few manifests are read, however many runs there are.

    `unsaved` holds texts that count instead of what is saved, by absolute path.
    """
    runs = tuple(islice(runs_of(prompt, experiment=experiment, unsaved=unsaved), LOOKED_BACK))
    whole = [index for index, run in enumerate(runs) if run.rows_chosen is None]
    some = [index for index, run in enumerate(runs) if not is_of_examples(run.rows_chosen)]
    found = whole or some
    if not found:
        return LastRuns(None, runs[:MAX_LATER])
    scored = runs[found[0]]
    if len(whole) > 1:
        scored = replace(scored, previous=runs[whole[1]])
    return LastRuns(scored, runs[: found[0]][:MAX_LATER])


def last_over(prompt: Path, experiment: str, rows: str | None) -> RunSummary | None:
    """Return the latest run over the same selection of rows (None for all): only its scores compare.

    Of a long history, the last runs are looked through.
    """
    runs = islice(runs_of(prompt, experiment=experiment), LOOKED_BACK)
    return next((run for run in runs if run.rows_chosen == rows), None)
