"""Runs as their manifests describe them, and the finished runs of a prompt file."""

from __future__ import annotations

import csv
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter

from promptls.datasets.dataset_files import MAX_BYTES
from promptls.experiments.manifest import (
    hash_of_file,
    hash_of_text,
    manifest_of,
    prompt_stem,
    results_folder,
    text_of_file,
)
from promptls.experiments.row_choice import is_of_examples
from promptls.experiments.scores import good_class, score_text
from promptls.security.files import cached_by_file, file_status, folder_changed, names_in, open_text
from promptls.semantic.header import CLOSING
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.truncation.lab_report import MeasuredCacheJson

STABLE_NANOSECONDS = 1_000_000_000

Status = Literal["finished", "running", "stopped"]

LOOKED_BACK = 100
"""Maximum number of runs that are searched for a complete one."""


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """The score of a metric in a run.

    `value` is the proportion of the good class (discrete), the mean (numeric) or None; `text` is its
    display text: `75 %`. `unscored` rows have no score, because they failed or could not be scored.
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

    @property
    def good(self) -> str | None:
        """The class whose proportion is the score; None if the metric has no classes."""
        return good_class(self.kind, self.allowed_values)

    def number_of(self, cell: str) -> float | None:
        """Return a score in a table as a number: 1 for the good class and 0 for others.

        None for a ranking, and for a cell without a score.
        """
        if not cell or self.kind == "ranking":
            return None
        if self.kind == "discrete":
            return None if self.good is None else float(cell == self.good)
        try:
            value = float(cell)
        except ValueError:
            return None
        return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run. `stale` means that the prompt, or a file that it includes, has changed since.

    `invalid` answers violate the form that the prompt requires; `cached` ones are from earlier calls.
    `cost` is the original cost of all answers, `paid` the amount spent by this run, in US dollars.
    `rows` are the planned results. An unfinished run has no scores and no totals, and `done` results.
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
    cached_input_tokens: int = 0
    """The input tokens that providers read from their prefix caches."""
    reasoning_tokens: int = 0
    """The output tokens of reasoning."""
    rows_chosen: str | None = None
    """The selected rows of the dataset, in the syntax of `row_choice.parse_rows`; None for all."""
    dataset_hash: str | None = None
    """The SHA-256 of the dataset's file; None if the rows came from a program."""
    output_key: str | None = None
    """The name of the answer in the prompt's header, which is often that of the column with expected ones."""
    by_model: Mapping[str, tuple[MetricSummary, ...]] = field(default_factory=dict)
    status: Status = "finished"
    done: int = 0
    dataset: Path | None = None
    """The dataset's file; None if the rows came from a program."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the prompt and the files it includes, by their paths relative to the results folder."""
    continues: str | None = None
    """The name of the run whose failed rows this one retried."""
    prompt_hash: str | None = None
    """The hash of the prompt with all included files."""
    text_hash: str | None = None
    """The hash of the prompt's own file."""
    rendered_hash: str | None = None
    commit: str | None = None
    dirty: bool | None = None

    @property
    def token_text(self) -> str:
        """The number of tokens in words, with those that were cheaper or not part of an answer."""
        read = self.cached_input_tokens / self.input_tokens if self.input_tokens else 0.0
        share = f"{read:.0%}".replace("%", " %")
        cached = f" ({share} from the provider's cache)" if read else ""
        thought = f" ({self.reasoning_tokens:,} of reasoning)" if self.reasoning_tokens else ""
        return f"{self.input_tokens:,} input{cached} and {self.output_tokens:,} output tokens{thought}"

    @property
    def path(self) -> Path:
        """The table, or the path of an unfinished run for `--resume`."""
        return self.results if self.status == "finished" else self.results.with_suffix("")

    @property
    def is_complete(self) -> bool:
        """Whether the run covers all rows of its dataset, as required of baselines and trends."""
        return self.rows_chosen is None

    def is_comparable_with(self, other: RunSummary) -> bool:
        """Return whether both runs are complete and use the same experiment and data."""
        return (
            self.is_complete
            and other.is_complete
            and (self.experiment, self.dataset_hash) == (other.experiment, other.dataset_hash)
        )

    @property
    def scores(self) -> dict[str, str]:
        """The texts of the scores, by metric."""
        return {metric.name: metric.text for metric in self.metrics}

    @property
    def values(self) -> dict[str, float | None]:
        """The values of the scores, by metric."""
        return {metric.name: metric.value for metric in self.metrics}

    def of_model(self, model: str) -> tuple[MetricSummary, ...]:
        """Return the scores of one of the run's models."""
        return self.by_model.get(model, self.metrics)

    def metric(self, name: str) -> MetricSummary | None:
        """Return the score of the metric `name`, if the run has it."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def last_run(
    prompt: Path, *, experiment: str | None = None, unsaved: Mapping[str, str] | None = None
) -> RunSummary | None:
    """Return the latest finished run of the prompt, complete or partial, with its baseline as `previous`.

    None if there are no runs. `unsaved` contains unsaved texts by absolute path.
    """
    runs = runs_of(prompt, experiment=experiment, unsaved=unsaved)
    latest = next(runs, None)
    return None if latest is None else with_baseline(latest, runs)


def with_baseline(run: RunSummary, older: Iterable[RunSummary]) -> RunSummary:
    """Return the run with the first comparable run of `older` as `previous`; partial runs have none.

    Only a limited number of runs is searched.
    """
    if not run.is_complete:
        return run
    found = (each for each in islice(older, LOOKED_BACK) if run.is_comparable_with(each))
    return replace(run, previous=next(found, None))


def runs_of(
    prompt: Path, *, experiment: str | None = None, unsaved: Mapping[str, str] | None = None
) -> Iterator[RunSummary]:
    """Yield every finished run of the prompt file, latest first; damaged manifests are skipped."""
    own = Path(os.path.normpath(prompt.absolute()))
    for run in finished_runs(results_folder(own), prompt_stem(own)):
        if run.prompt == own and experiment in {None, run.experiment}:
            yield replace(run, stale=is_stale(run, unsaved or {}))


def finished_runs(folder: Path, stem: str | None) -> Iterator[RunSummary]:
    """Yield the finished runs of a results folder, latest first, without looking whether they are stale.

    `stem` limits them to prompt files of this name. Damaged manifests are skipped.
    """
    runs = map(_of_manifest, _manifests(folder, stem))
    return (run for run in runs if run is not None)


def read_run(manifest: Path) -> RunSummary:
    """Return the run of a manifest; raises `UserError` if the file is not a manifest."""
    run = _of_manifest(manifest)
    if run is None:
        raise UserError("this is not the manifest of a run", FilePlace(manifest), "name another run")
    return replace(run, stale=is_stale(run, {}))


def row_results(run: RunSummary) -> Iterator[dict[str, str]]:
    """Yield the lines of the run's table lazily; raises `UserError` if it is missing or damaged.

    Tables written by `arun` in a program lack some columns of a run, which are filled in.
    """
    model = run.models[0] if run.models else ""
    try:
        with open_text(run.results) as stream:
            for number, cells in enumerate(csv.DictReader(stream), start=1):
                row = str(number)
                yield {"id": row, "error": "", "model": model, "repeat": "1", "row_number": row, **cells}
    except FileNotFoundError:
        raise UsageError(
            "the table of the run does not exist", FilePlace(run.results), "run the experiment again"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"the table of the run is damaged: {error}",
            FilePlace(run.results),
            "restore the file, or run the experiment again",
        ) from None


def _manifests(folder: Path, stem: str | None) -> Iterable[Path]:
    """Return the manifests of the runs with this stem, or of all, latest first."""
    changed = folder_changed(folder)
    if changed is None:
        return ()
    # Changes within one tick of the file system's clock cannot be distinguished.
    is_stable = time.time_ns() - changed > STABLE_NANOSECONDS
    names = (_cached_names if is_stable else _names)(str(folder), stem, changed)
    return (folder / name for name in names)


def _names(folder: str, stem: str | None, _changed: int) -> tuple[str, ...]:
    own = ".+?" if stem is None else re.escape(stem)
    shape = re.compile(rf"(\d{{8}}-\d{{6}})-{own}(?:-(\d+))?\.json")
    found = [
        (match[1], int(match[2] or 1), name) for name in names_in(folder) if (match := shape.fullmatch(name))
    ]
    return tuple(name for _, _, name in sorted(found, reverse=True))


_cached_names = lru_cache(maxsize=64)(_names)
"""`_names`, cached until an entry of the folder is created, renamed or removed."""


@cached_by_file(2_000)
def _of_manifest(manifest: Path) -> RunSummary | None:
    try:
        return run_of_values(manifest_of(manifest), manifest)
    except UserError:
        return None


def run_of_values(values: Mapping[str, Any], manifest: Path) -> RunSummary | None:
    """Return the run of a manifest with these values; None if one is missing or has the wrong type.

    Manifests are untrusted input. Whether the run is stale is not looked at.
    """
    try:
        return _run_type().validate_python(_summary(values, manifest))
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


@lru_cache(maxsize=1)
def _run_type() -> TypeAdapter[RunSummary]:
    return TypeAdapter(RunSummary)


def _summary(values: Mapping[str, Any], manifest: Path) -> dict[str, Any]:
    """Return the fields of a `RunSummary` for a manifest with these values, whose types are not checked."""
    totals = values["totals"]
    dataset = values.get("dataset") or {}
    git = values.get("git") or {}
    folder = manifest.absolute().parent
    return {
        "name": values["run"],
        "experiment": values["experiment"],
        "prompt": Path(os.path.normpath(folder / values["prompt"])),
        "results": manifest.with_suffix(".csv"),
        "manifest": manifest,
        "started": values["started"],
        "seconds": values["seconds"],
        "models": [model["name"] for model in values["models"]],
        "rows": totals["results"],
        "failed": totals["failed"],
        "input_tokens": totals["input_tokens"],
        "output_tokens": totals["output_tokens"],
        "cost": totals["cost"],
        "metrics": [_metric_fields(metric) for metric in values["metrics"]],
        "stale": False,
        "invalid": totals.get("invalid", 0),
        "cached": totals.get("cached", 0),
        "paid": totals.get("paid"),
        "cached_input_tokens": totals.get("cached_input_tokens") or 0,
        "reasoning_tokens": totals.get("reasoning_tokens") or 0,
        "rows_chosen": dataset.get("rows"),
        "dataset_hash": dataset.get("sha256"),
        "output_key": values.get("output_key"),
        "by_model": {
            name: [_metric_fields(metric) for metric in total["metrics"]]
            for name, total in (values.get("by_model") or {}).items()
        },
        "done": totals["results"],
        "dataset": Path(os.path.normpath(folder / dataset["path"])) if dataset.get("path") else None,
        "files": values["files"],
        "continues": values.get("continues"),
        "prompt_hash": values.get("prompt_hash"),
        "text_hash": values["files"].get(values["prompt"]),
        "rendered_hash": values.get("rendered_hash"),
        "commit": git.get("commit"),
        "dirty": git.get("dirty"),
    }


def metric_summary(values: Mapping[str, Any]) -> MetricSummary:
    """Return the score of a metric from its values in a tally."""
    return MetricSummary(**_metric_fields(values))


def _metric_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": values["name"],
        "kind": values["kind"],
        "value": values["value"],
        "text": score_text(values),
        "scored": values["scored"],
        "unscored": values["unscored"],
        "counts": values["counts"],
        "allowed_values": values["allowed_values"],
        "lower_is_better": values.get("lower_is_better", False),
    }


_SAMPLES: Final = re.compile(r"^samples:.*(?:\n|\Z)", re.MULTILINE)


def is_stale(run: RunSummary, unsaved: Mapping[str, str]) -> bool:
    """Return whether the prompt, or a file that it includes, has changed since the run."""
    for name, digest in run.files.items():
        path = os.path.normpath(run.manifest.absolute().parent / name)
        try:
            text = unsaved[path] if path in unsaved else text_of_file(path)
        except OSError:
            return True
        if digest != hash_of_text(text) and digest != hash_of_text(_without_samples(text)):
            return True
    return False


def _without_samples(text: str) -> str:
    """Return the text without the key of its samples, which runs do not use."""
    end = text.find(CLOSING)
    declared, rest = (text, "") if end < 0 else (text[:end], text[end:])
    return _SAMPLES.sub("", declared, count=1) + rest


# Maximum number of partial runs whose verdicts override older ones.
MAX_LATER = 5
_OLDER: Final = 20
"""The number of runs before the latest complete one in which those over examples are looked for."""


class LastRuns(NamedTuple):
    """The last runs; `scored` is the latest complete run, with its baseline as `previous`.

    Without a complete run, it is the latest partial one. `later` are more recent runs, over some rows or
    over the prompt's examples, latest first. `scored` is None before the first run over rows. `of_examples`
    are runs over the prompt's examples that are older than `scored`, latest first.
    """

    scored: RunSummary | None
    later: tuple[RunSummary, ...]
    of_examples: tuple[RunSummary, ...] = ()

    @property
    def newest_first(self) -> tuple[RunSummary, ...]:
        """All of them, latest first."""
        return (*self.later, *([self.scored] if self.scored is not None else []))


@cached_by_file(32)
def _digest(path: Path) -> str:
    try:
        return hash_of_file(path)
    except OSError:
        return ""


def has_digest(path: Path, digest: str) -> bool:
    """Return whether a file has the SHA-256 digest; its own is computed again only if it has changed."""
    return _digest(path) == digest


def is_same_dataset(path: Path, digest: str) -> bool:
    """Return whether a dataset has the digest; True for large ones, which are not read."""
    status = file_status(path)
    return status is not None and (status.st_size > MAX_BYTES or has_digest(path, digest))


def last_runs(prompt: Path, experiment: str, *, unsaved: Mapping[str, str] | None = None) -> LastRuns:
    """Return the last runs of the prompt file's experiment.

    Manifests are read until a complete run and its baseline are found, at most 100 for each. `unsaved`
    contains unsaved texts by absolute path.
    """
    runs = runs_of(prompt, experiment=experiment, unsaved=unsaved)
    later: list[RunSummary] = []
    for run in islice(runs, LOOKED_BACK):
        if run.is_complete:
            older = list(islice(runs, _OLDER))
            of_examples = [each for each in older if is_of_examples(each.rows_chosen)]
            scored = with_baseline(run, chain(older, runs))
            return LastRuns(scored, tuple(later[:MAX_LATER]), tuple(of_examples[:MAX_LATER]))
        later.append(run)
    latest = next((each for each in later if not is_of_examples(each.rows_chosen)), None)
    newer = later if latest is None else later[: later.index(latest)]
    return LastRuns(latest, tuple(newer[:MAX_LATER]))


def measured_cache(prompt: Path) -> MeasuredCacheJson | None:
    """Return the latest run of the prompt that read input tokens from the prefix cache of a provider."""
    for run in islice(runs_of(prompt), LOOKED_BACK):
        if run.cached_input_tokens and run.input_tokens:
            share = run.cached_input_tokens / run.input_tokens
            return {"run": run.name, "models": list(run.models), "cacheRate": min(share, 1.0)}
    return None


def run_before(run: RunSummary) -> RunSummary | None:
    """Return the previous run over the same rows of the same data, whose scores are comparable.

    Only a limited number of runs is searched.
    """
    rows = (run.rows_chosen, run.dataset_hash)
    return next(
        (
            each
            for each in islice(runs_of(run.prompt, experiment=run.experiment), LOOKED_BACK)
            if (each.rows_chosen, each.dataset_hash) == rows and each.name != run.name
        ),
        None,
    )
