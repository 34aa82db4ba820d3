"""The runs that a prompt file has had, found by their manifests alone."""

from __future__ import annotations

import csv
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from promptls.experiments.manifest import hash_of_text
from promptls.experiments.results_folder import MAX_MANIFEST_BYTES, prompt_stem, results_folder
from promptls.experiments.tally import score_text
from promptls.security.files import kept_by_file, open_text, read_bytes, read_text
from promptls.text.errors import FilePlace, UsageError, UserError

SETTLED_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric's score over a run.

    `value` is the share of the good class (discrete), the mean (numeric) or None; `text` says it
    for people: `75 %`. `unscored` rows have no score, because they failed or could not be scored.
    """

    name: str
    kind: str
    value: float | None
    text: str
    scored: int
    unscored: int
    counts: Mapping[str, int]
    allowed_values: Any
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A finished run. `stale` says that the prompt, or a file that it includes, has changed since.

    `invalid` answers do not have the form that the prompt demands; `cached` ones are of earlier calls.
    `cost` is what all of them cost when they were made, `paid` what this run spent, in US dollars.
    """

    name: str
    experiment: str
    prompt: Path
    results: Path
    manifest: Path
    started: str
    seconds: float
    models: tuple[str, ...]
    rows: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    metrics: tuple[MetricSummary, ...]
    stale: bool
    previous: RunSummary | None = None
    invalid: int = 0
    cached: int = 0
    paid: float | None = None
    rows_chosen: str | None = None
    """Which rows of the dataset were run, as `row_choice.parse_rows` reads it; None for all."""
    by_model: Mapping[str, tuple[MetricSummary, ...]] = field(default_factory=dict)

    def of_model(self, model: str) -> tuple[MetricSummary, ...]:
        """Return the scores of one of the run's models."""
        return self.by_model.get(model, self.metrics)

    def metric(self, name: str) -> MetricSummary | None:
        """Return the score of the metric `name`, or None if the run has no such metric."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def last_run(
    prompt: Path, *, experiment: str | None = None, unsaved: Mapping[str, str] | None = None
) -> RunSummary | None:
    """Return the newest finished run of the prompt file, with the one before it as `previous`.

    None without any.

    `unsaved` holds texts that count instead of what is saved, by absolute path. Two manifests are
    read, however many runs there are.
    """
    summaries = runs_of(prompt, experiment=experiment, unsaved=unsaved)
    newest = next(summaries, None)
    if newest is None:
        return None
    return replace(newest, previous=next(summaries, None))


def runs_of(
    prompt: Path, *, experiment: str | None = None, unsaved: Mapping[str, str] | None = None
) -> Iterator[RunSummary]:
    """Yield every finished run of the prompt file, the newest first; a broken manifest is passed over."""
    prompt = prompt.absolute()
    for manifest in _manifests(results_folder(prompt), prompt_stem(prompt)):
        values = _read(manifest)
        if values is None or _prompt_of(values, manifest) != os.path.normpath(prompt):
            continue
        if experiment in {None, values["experiment"]}:
            yield _summary(values, manifest, unsaved or {})


def read_run(manifest: Path) -> RunSummary:
    """Return the run of one manifest; raises `UserError` when the file is none."""
    values = _read(manifest)
    if values is None:
        raise UserError("this is not the manifest of a run", FilePlace(manifest), "name another run")
    return _summary(values, manifest, {})


def row_results(run: RunSummary) -> Iterator[dict[str, str]]:
    """Yield the lines of the run's table, read one at a time; raises `UserError` when the table is gone."""
    try:
        with open_text(run.results, newline="") as stream:
            yield from csv.DictReader(stream)
    except FileNotFoundError:
        raise UsageError(
            "the table of the run is gone", FilePlace(run.results), "run the experiment again"
        ) from None


def dataset_of(run: RunSummary) -> tuple[Path, str] | None:
    """Return the dataset that the run went over, and the SHA-256 digest that its file had then."""
    values = _read(run.manifest)
    named = values.get("dataset") if values else None
    if not isinstance(named, dict) or not isinstance(named.get("path"), str):
        return None
    path = os.path.normpath(run.manifest.absolute().parent / named["path"])
    return Path(path), str(named.get("sha256"))


def _manifests(folder: Path, stem: str) -> Iterable[Path]:
    """Return the manifests of the runs of this stem, the newest first."""
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return ()
    # Two changes within one tick of the file system's clock look like one.
    is_settled = time.time_ns() - changed > SETTLED_NANOSECONDS
    names = (_kept_names if is_settled else _names)(str(folder), stem, changed)
    return (folder / name for name in names)


def _names(folder: str, stem: str, _changed: int) -> tuple[str, ...]:
    shape = re.compile(rf"(\d{{8}}-\d{{6}})-{re.escape(stem)}(?:-(\d+))?\.json")
    try:
        names = os.listdir(folder)  # noqa: PTH208 - thousands of names, and no paths of them
    except OSError:
        return ()
    found = [(match[1], int(match[2] or 1), name) for name in names if (match := shape.fullmatch(name))]
    return tuple(name for _, _, name in sorted(found, reverse=True))


_kept_names = lru_cache(maxsize=64)(_names)
"""The same, read again only when something in the folder was made, renamed or removed."""


@kept_by_file(256)
def _read(manifest: Path) -> Mapping[str, Any] | None:
    try:
        values = json.loads(read_text(manifest, limit=MAX_MANIFEST_BYTES))
    except (OSError, ValueError):
        return None
    needed = {"run", "experiment", "prompt", "files", "models", "metrics", "totals", "started", "seconds"}
    return values if isinstance(values, dict) and needed <= values.keys() else None


def _prompt_of(values: Mapping[str, Any], manifest: Path) -> str:
    return os.path.normpath(manifest.absolute().parent / str(values["prompt"]))


def _summary(values: Mapping[str, Any], manifest: Path, unsaved: Mapping[str, str]) -> RunSummary:
    totals = values["totals"]
    return RunSummary(
        name=values["run"],
        experiment=values["experiment"],
        prompt=Path(_prompt_of(values, manifest)),
        results=manifest.with_suffix(".csv"),
        manifest=manifest,
        started=values["started"],
        seconds=values["seconds"],
        models=tuple(model["name"] for model in values["models"]),
        rows=totals["results"],
        failed=totals["failed"],
        input_tokens=totals["input_tokens"],
        output_tokens=totals["output_tokens"],
        cost=totals["cost"],
        metrics=tuple(_metric(metric) for metric in values["metrics"]),
        stale=_is_stale(values["files"], manifest.absolute().parent, unsaved),
        invalid=totals.get("invalid", 0),
        cached=totals.get("cached", 0),
        paid=totals.get("paid"),
        rows_chosen=(values.get("dataset") or {}).get("rows"),
        by_model={
            name: tuple(_metric(metric) for metric in total["metrics"])
            for name, total in (values.get("by_model") or {}).items()
        },
    )


def _metric(values: Mapping[str, Any]) -> MetricSummary:
    return MetricSummary(
        values["name"],
        values["kind"],
        values["value"],
        score_text(values),
        values["scored"],
        values["unscored"],
        values["counts"],
        values["allowed_values"],
        lower_is_better=values.get("lower_is_better", False),
    )


def _is_stale(files: Mapping[str, str], folder: Path, unsaved: Mapping[str, str]) -> bool:
    for name, digest in files.items():
        path = os.path.normpath(folder / name)
        text = unsaved.get(path)
        if text is None:
            try:
                text = read_bytes(path).decode("utf-8", "surrogateescape")
            except OSError:
                return True
        if hash_of_text(text) != digest:
            return True
    return False
