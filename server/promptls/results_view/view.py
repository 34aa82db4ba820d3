"""The view of some runs: everything that its page shows except the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from promptls.experiments.classification import classifications, pairs_of
from promptls.experiments.history import RunSummary, dataset_of
from promptls.experiments.manifest import manifest_of
from promptls.experiments.result_pages import run_json
from promptls.experiments.run_index import KnownRun, known_runs
from promptls.models.providers import TABLE
from promptls.results_view import results_wire
from promptls.results_view.notes import notes_json, notes_of
from promptls.results_view.scores import cached_by_tables, comparisons_json, quick_scores_json, scores_json
from promptls.text.errors import UserError

# The number of runs in the history chart of an experiment.
MAX_HISTORY = 60

# Common names of dataset columns with the whole response, the most reliable first.
_EXPECTED = (
    "expected",
    "expected_answer",
    "expected_output",
    "expected_response",
    "reference",
    "ground_truth",
    "answer",
    "target",
    "label",
    "output",
)


def results_view(runs: Sequence[RunSummary], *, quick: bool = False) -> results_wire.ResultsView:
    """Return the runs as JSON: the first is the baseline of comparisons, the last is shown.

    A `quick` view is not `complete`: it has no intervals, classes and comparisons, which require
    reading tables. Raises `UserError` if a table is missing.
    """
    return {
        "runs": [_run(run, quick=quick) for run in runs],
        "comparisons": comparisons_json(runs) if len(runs) > 1 and not quick else [],
        "history": _history(runs[-1]),
        "others": _others(runs[-1]),
        "complete": not quick,
    }


def _run(run: RunSummary, *, quick: bool) -> results_wire.RunJson:
    said = run_json(run)
    manifest = manifest_of(run.manifest)
    dataset = dataset_of(run)
    notes, problem = _notes(run)
    return {
        "path": str(run.results.absolute()),
        "name": run.name,
        "experiment": run.experiment,
        "prompt": str(run.prompt),
        "promptName": run.prompt.name,
        "dataset": None if dataset is None else dataset[0].name,
        "started": run.started,
        "seconds": run.seconds,
        "models": list(run.models),
        "rows": run.rows,
        "failed": run.failed,
        "invalid": run.invalid,
        "cached": run.cached,
        "inputTokens": run.input_tokens,
        "outputTokens": run.output_tokens,
        "cachedInputTokens": run.cached_input_tokens,
        "reasoningTokens": run.reasoning_tokens,
        "cost": run.cost,
        "paid": run.paid,
        "free": _is_free(run, manifest),
        "rowsChosen": run.rows_chosen,
        "isComplete": run.is_complete,
        "stale": run.stale,
        "commit": (manifest.get("git") or {}).get("commit"),
        "dirty": (manifest.get("git") or {}).get("dirty"),
        "columns": said["columns"],
        "expected": expected_columns(said["columns"]),
        "metrics": quick_scores_json(run) if quick else _metrics([run]),
        "byModel": [
            {"model": model, "scores": {metric.name: metric.text for metric in run.of_model(model)}}
            for model in run.models
        ]
        if len(run.models) > 1
        else [],
        "classes": [] if quick else _classes([run]),
        "notes": notes_json(notes),
        "notesProblem": problem,
        "leftOut": [],
    }


def expected_columns(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns with expected values, each with the column of the model's answers.

    Without a column for a key of the answer, it is a column that datasets commonly use for the whole
    response.
    """
    found = [(pair.expected, pair.predicted) for pair in pairs_of(columns)]
    usual = next((name for name in _EXPECTED if name in columns), None)
    return found or ([] if usual is None else [(usual, "response")])


def _is_free(run: RunSummary, manifest: Mapping[str, Any]) -> bool:
    """Return whether no call cost money: all models, including those of metrics, run on this machine."""
    if run.cost:
        return False
    judging = manifest["totals"].get("judging")
    providers = [
        model.get("provider") or str(model["name"]).partition(":")[0] for model in manifest["models"]
    ]
    are_free = all(name in TABLE and not TABLE[name].paid for name in providers)
    return are_free and (judging is None or judging.get("cost") == 0)


def _notes(run: RunSummary) -> tuple[dict[int, Any], str | None]:
    try:
        return dict(notes_of(run)), None
    except UserError as failure:
        return {}, str(failure)


@cached_by_tables
def _metrics(runs: Sequence[RunSummary]) -> list[results_wire.MetricJson]:
    return scores_json(runs[0])


@cached_by_tables
def _classes(runs: Sequence[RunSummary]) -> list[results_wire.ClassificationJson]:
    """Return the classification reports of the run; empty if no column contains classes."""
    try:
        return [
            cast("results_wire.ClassificationJson", asdict(report)) for report in classifications(runs[0])
        ]
    except UserError:
        return []


def _history(run: RunSummary) -> list[results_wire.HistoryRun]:
    """Return the finished runs of the experiment, the oldest first."""
    known = known_runs(run.results.parent, prompt=run.prompt, experiment=run.experiment, most=MAX_HISTORY)
    return [_known_json(each, run) for each in reversed(known) if each.status == "finished"]


def _others(run: RunSummary) -> list[results_wire.HistoryRun]:
    """Return the last finished runs of other prompts and experiments in the folder, the oldest first."""
    known = known_runs(run.results.parent, most=4 * MAX_HISTORY)
    own = (os.path.normpath(run.prompt), run.experiment)
    others = [
        each
        for each in known
        if each.status == "finished" and (os.path.normpath(each.prompt), each.experiment) != own
    ]
    return [_known_json(each, run) for each in reversed(others[:MAX_HISTORY])]


def _known_json(known: KnownRun, shown: RunSummary) -> results_wire.HistoryRun:
    return {
        "path": str(Path(known.path).absolute()),
        "name": known.name,
        "promptName": Path(known.prompt).name,
        "started": known.started,
        "models": list(known.models),
        "rows": known.rows,
        "rowsChosen": known.chosen,
        "isComplete": known.complete,
        "isComparable": known.complete
        and (known.experiment, known.dataset_hash) == (shown.experiment, shown.dataset_hash),
        "cached": known.cached or 0,
        "scores": dict(known.scores),
        "values": dict(known.values),
    }
