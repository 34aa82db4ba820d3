"""The runs of a results folder, including running and unfinished ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from promptls.experiments.manifest import hash_of_text, manifest_of, relative
from promptls.experiments.row_choice import chosen_rows
from promptls.experiments.scores import score_text
from promptls.experiments.unfinished import RunState, planned_results, unfinished_runs
from promptls.security.files import cached_by_file, names_in
from promptls.text.errors import UserError
from promptls.text.format import plural

Status = Literal["finished", "running", "stopped"]

_MANIFEST = re.compile(r"\d{8}-\d{6}-.+?\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """The summary of a run in a list.

    `rows` results were planned, `done` are stored; `failed` have no answer, `invalid` ones violate the form
    that the prompt requires; both are None for unfinished runs. `scores` are texts, `values`
    numbers, by metric. `cost` and `paid` are in US dollars. `path` is the table, or the path of an
    unfinished run for `--resume`; `continues` is the name of the run whose failed rows this one retried.
    `prompt_hash` is the hash of the prompt with all included files, `text_hash` that of its own file, and
    `dataset_hash` that of the dataset's file. A run is `complete` if it covers all rows of its dataset;
    `chosen` are the rows of a partial run. `cached` answers are from earlier calls.
    """

    name: str
    status: Status
    experiment: str
    prompt: str
    path: str
    started: str
    seconds: float | None = None
    models: tuple[str, ...]
    rows: int
    done: int
    failed: int | None = None
    invalid: int | None = None
    cost: float | None = None
    paid: float | None = None
    scores: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float | None] = field(default_factory=dict)
    complete: bool
    chosen: str | None
    cached: int | None = None
    dataset_hash: str | None
    continues: str | None
    prompt_hash: str | None
    text_hash: str | None
    rendered_hash: str | None
    commit: str | None
    dirty: bool | None


def run_notes(run: KnownRun) -> str:
    """Return what is unusual about the run: failures, chosen rows, answers from the cache."""
    notes: list[str] = []
    if run.status != "finished":
        notes.append(run.status)
    if run.failed:
        notes.append(f"{run.failed:,} failed")
    if run.invalid:
        notes.append(f"{plural(run.invalid, 'answer')} in the wrong format")
    if run.chosen:
        notes.append(f"partial: {chosen_rows(run.chosen)}")
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
) -> list[KnownRun]:
    """Return at most `limit` runs of the results folder, latest first.

    `prompt` limits them to that file, `same_text` to runs whose prompt file had this text, regardless of
    its name.
    """
    conditions: dict[str, str] = {}
    if prompt is not None:
        conditions["prompt"] = relative(prompt.absolute(), folder.absolute())
    if experiment is not None:
        conditions["experiment"] = experiment
    if same_text is not None:
        conditions["text_hash"] = hash_of_text(same_text)
    states = map(_unfinished, unfinished_runs(folder))
    unfinished = (run for run in states if run is not None and _meets(run, conditions))
    found = [*_finished(folder, conditions, limit), *unfinished]
    return [_place(run, folder) for run in newest_first(found, limit)]


def newest_first(runs: Iterable[KnownRun], limit: int | None) -> list[KnownRun]:
    """Return at most `limit` of the runs, latest first."""
    return sorted(runs, key=lambda run: (run.started, run.name), reverse=True)[:limit]


def _meets(run: KnownRun, conditions: Mapping[str, str]) -> bool:
    return all(getattr(run, column) == value for column, value in conditions.items())


def _finished(folder: Path, conditions: Mapping[str, str], limit: int | None) -> Iterator[KnownRun]:
    names = [name.removesuffix(".json") for name in names_in(folder) if _MANIFEST.fullmatch(name)]
    runs = (_of_manifest(folder / f"{name}.json") for name in sorted(names, reverse=True))
    return islice((run for run in runs if run is not None and _meets(run, conditions)), limit)


@cached_by_file(2_000)
def _of_manifest(path: Path) -> KnownRun | None:
    """Return the run of a manifest; None if the file is not a manifest."""
    try:
        values = manifest_of(path)
        totals = values["totals"]
        metrics = {str(metric["name"]): metric for metric in values["metrics"]}
        return KnownRun(
            **_common(values, path.stem),
            status="finished",
            path=path.with_suffix(".csv").name,
            seconds=values["seconds"],
            rows=totals["results"],
            done=totals["results"],
            failed=totals["failed"],
            invalid=totals.get("invalid", 0),
            cached=totals.get("cached", 0),
            cost=totals["cost"],
            paid=totals.get("paid"),
            scores={name: score_text(metric) for name, metric in metrics.items()},
            values={name: metric["value"] for name, metric in metrics.items()},
        )
    except (UserError, OSError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _unfinished(state: RunState) -> KnownRun | None:
    total = planned_results(state.header)
    if total is None:
        return None
    try:
        common = _common(state.header, state.path.name)
    except (LookupError, TypeError, AttributeError):
        return None
    return KnownRun(
        **common,
        status="running" if state.is_running else "stopped",
        path=state.path.name,
        rows=total,
        done=min(total, state.done),
    )


def _common(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    prompt = str(values["prompt"])
    git = values.get("git") or {}
    dataset = values.get("dataset") or {}
    return {
        "name": name,
        "experiment": str(values["experiment"]),
        "prompt": prompt,
        "started": str(values["started"]),
        "models": tuple(str(model["name"]) for model in values["models"]),
        "complete": dataset.get("rows") is None,
        "chosen": dataset.get("rows"),
        "dataset_hash": dataset.get("sha256"),
        "continues": values.get("continues"),
        "prompt_hash": values.get("prompt_hash"),
        "text_hash": values["files"].get(prompt),
        "rendered_hash": values.get("rendered_hash"),
        "commit": git.get("commit"),
        "dirty": git.get("dirty"),
    }


def _place(run: KnownRun, folder: Path) -> KnownRun:
    prompt = os.path.normpath(folder.absolute() / run.prompt)
    return replace(run, prompt=prompt, path=str(folder.absolute() / run.path))
