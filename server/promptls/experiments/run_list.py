"""The runs of a results folder, including running and unfinished ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from promptls.experiments.history import (
    RunSummary,
    Status,
    finished_runs,
    is_same_dataset,
    is_stale,
    run_of_values,
)
from promptls.experiments.manifest import hash_of_text, prompt_stem, results_folder
from promptls.experiments.row_choice import chosen_rows
from promptls.experiments.unfinished import planned_results, unfinished_runs
from promptls.text.format import plural


def run_notes(run: RunSummary) -> str:
    """Return what is unusual about the run: failures, chosen rows, answers from the cache."""
    notes: list[str] = []
    if run.status != "finished":
        notes.append(run.status)
    if run.failed:
        notes.append(f"{run.failed:,} failed")
    if run.invalid:
        notes.append(f"{plural(run.invalid, 'answer')} in the wrong format")
    if run.rows_chosen:
        notes.append(f"partial: {chosen_rows(run.rows_chosen)}")
    if run.cached:
        notes.append(f"{run.cached:,} from the cache")
    if run.continues:
        notes.append(f"retries {run.continues}")
    return ", ".join(notes)


def known_runs(
    folder: Path,
    *,
    prompt: Path | None = None,
    experiment: str | None = None,
    same_text: str | None = None,
    limit: int | None = None,
) -> list[RunSummary]:
    """Return at most `limit` runs of the results folder, latest first.

    `prompt` limits them to that file, `same_text` to runs whose prompt file had this text, regardless of
    its name.
    """
    folder = folder.absolute()
    own = None if prompt is None else Path(os.path.normpath(prompt.absolute()))
    text_hash = None if same_text is None else hash_of_text(same_text)

    def chosen(runs: Iterable[RunSummary]) -> Iterator[RunSummary]:
        return (
            run
            for run in runs
            if own in {None, run.prompt}
            and experiment in {None, run.experiment}
            and text_hash in {None, run.text_hash}
        )

    finished = finished_runs(folder, None if own is None else prompt_stem(own))
    return newest_first([*islice(chosen(finished), limit), *chosen(_unfinished(folder))], limit)


def newest_first(runs: Iterable[RunSummary], limit: int | None) -> list[RunSummary]:
    """Return at most `limit` of the runs, latest first."""
    return sorted(runs, key=lambda run: (run.started, run.name), reverse=True)[:limit]


def stopped_runs(prompt: Path, *, unsaved: Mapping[str, str] | None = None) -> dict[str, RunSummary]:
    """Return the latest stopped run of each experiment of the prompt, unless files that it uses changed."""
    own = Path(os.path.normpath(prompt.absolute()))
    return {
        run.experiment: run
        for run in _unfinished(results_folder(own))
        if (run.status, run.prompt) == ("stopped", own)
        and run.done
        and not is_stale(run, unsaved or {})
        and run.dataset is not None
        and is_same_dataset(run.dataset, str(run.dataset_hash))
    }


_NO_TOTALS: Final[Mapping[str, Any]] = {"failed": 0, "input_tokens": 0, "output_tokens": 0, "cost": None}


def _unfinished(folder: Path) -> Iterator[RunSummary]:
    """Yield the runs of the folder that have not finished; those with a damaged header are skipped."""
    for state in unfinished_runs(folder):
        total, name = planned_results(state.header), state.path.name
        if total is None:
            continue
        no_results = {"run": name, "seconds": 0.0, "metrics": [], "totals": {"results": total, **_NO_TOTALS}}
        run = run_of_values({**state.header, **no_results}, folder / f"{name}.json")
        if run is not None:
            status: Status = "running" if state.is_running else "stopped"
            yield replace(run, status=status, done=min(total, state.done))
