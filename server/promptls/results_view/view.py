"""The view of some runs: everything that its page shows except the rows, with scores and comparisons."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from promptls.experiments.classification import classifications, pairs_of
from promptls.experiments.comparison import Comparison, compare_with
from promptls.experiments.history import MetricSummary, RunSummary
from promptls.experiments.manifest import manifest_of
from promptls.experiments.named_runs import known_runs
from promptls.experiments.result_pages import cached_by_tables, paired_places, scored_columns, table_columns
from promptls.experiments.row_choice import is_of_examples
from promptls.models.providers import TABLE
from promptls.results_view import results_wire
from promptls.results_view.notes import notes_json, notes_of
from promptls.text.errors import UserError

BARS = 20
"""The number of bars in a distribution."""
# Up to this number of distinct values, each has its own bar.
FEW_VALUES = 12
# The quantile of the normal distribution for an interval of 95 %.
_Z = 1.959964


def scores_json(run: RunSummary) -> list[results_wire.MetricJson]:
    """Return each metric of the run with its 95 % interval, `low` and `high`, and its distribution.

    The interval is over rows, with the repeats of a row combined: Wilson's for proportions, otherwise that of
    the mean by its standard error. It is None if fewer than two rows have a score.
    """
    columns = scored_columns(run)
    keys = list(zip(columns["row_number"], columns["model"], strict=True))
    # Without row numbers, and if none is repeated, each line is a separate row.
    are_single = len(set(keys)) == len(keys) or not any(columns["row_number"])
    return [
        _metric_json(metric, _units(metric, columns[metric.name], None if are_single else keys))
        for metric in run.metrics
    ]


def _units(
    metric: MetricSummary, cells: Sequence[str], keys: Sequence[tuple[str, str]] | None
) -> list[list[float]]:
    """Return the values grouped by row, with its repeats; rows with equal `keys` are the same row."""
    numbers = {cell: metric.number_of(cell) for cell in set(cells)}
    values = [numbers[cell] for cell in cells]
    if keys is None:
        return [[value] for value in values if value is not None]
    units: dict[tuple[str, str] | int, list[float]] = defaultdict(list)
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        if value is not None:
            units[key if key[0] else place].append(value)
    return list(units.values())


def quick_scores_json(run: RunSummary) -> list[results_wire.MetricJson]:
    """Return each metric as summarized in the manifest: without intervals, and with bars only for classes."""
    return [
        {**_metric_json(metric, []), "bars": _bars(metric, []) if metric.kind == "discrete" else []}
        for metric in run.metrics
    ]


def _metric_json(metric: MetricSummary, units: list[list[float]]) -> results_wire.MetricJson:
    means = [values[0] if len(values) == 1 else math.fsum(values) / len(values) for values in units]
    low, high = _interval(metric, means)
    return {
        "name": metric.name,
        "kind": metric.kind,
        "value": metric.value,
        "text": metric.text,
        "low": low,
        "high": high,
        "scored": metric.scored,
        "unscored": metric.unscored,
        "good": metric.good,
        "lowerIsBetter": metric.lower_is_better,
        "bars": _bars(metric, [value for values in units for value in values]),
    }


def _interval(metric: MetricSummary, means: Sequence[float]) -> tuple[float | None, float | None]:
    count = len(means)
    if count <= 1:  # one row has no variance
        return None, None
    mean = math.fsum(means) / count
    if metric.kind == "discrete" and all(value in {0.0, 1.0} for value in means):
        # Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
        center = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
        reach = _Z * math.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
        return max(0.0, center - reach), min(1.0, center + reach)
    variance = math.fsum((value - mean) ** 2 for value in means) / (count - 1)
    reach = _Z * math.sqrt(variance / count)
    return mean - reach, mean + reach


def _bars(metric: MetricSummary, values: Sequence[float]) -> list[results_wire.Bar]:
    """Return labels with counts: the classes of a discrete metric, or else ranges of the values."""
    if metric.kind != "numeric":
        classes = sorted(metric.counts.items(), key=lambda item: -item[1])
        return [{"label": name, "count": count} for name, count in classes]
    different = sorted(Counter(values).items())
    if len(different) <= FEW_VALUES:
        return [{"label": f"{value:.4g}", "count": count} for value, count in different]
    low, high = different[0][0], different[-1][0]
    width = (high - low) / BARS
    counts = [0] * BARS
    for value, count in different:
        counts[min(BARS - 1, int((value - low) / width))] += count
    edges = [low + width * bar for bar in range(BARS + 1)]
    return [
        {"label": f"{edges[bar]:.3g} to {edges[bar + 1]:.3g}", "count": count}
        for bar, count in enumerate(counts)
    ]


MAX_POINTS = 2000
"""The maximum number of distinct points in a chart; of more, an evenly spaced selection is shown."""


@cached_by_tables
def comparisons_json(runs: Sequence[RunSummary]) -> list[results_wire.RunComparison]:
    """Return the comparison of each other run with the first.

    If two cannot be compared, `problem` is the reason.
    """
    first, *others = runs
    try:
        return [_comparison_json(each, others) for each in compare_with(first, others)]
    except UserError:
        # Runs that can be compared are compared individually, without a correction for all of them.
        return [_alone(first, other) for other in others]


def _alone(first: RunSummary, other: RunSummary) -> results_wire.RunComparison:
    try:
        return _comparison_json(compare_with(first, [other])[0], [other])
    except UserError as failure:
        said = f"{failure.message}: {failure.remedy}" if failure.remedy else failure.message
        return {
            "run": str(other.results.absolute()),
            "problem": said,
            "beforeName": first.name,
            "afterName": other.name,
            "pairs": 0,
            "better": 0,
            "worse": 0,
            "metrics": [],
            "notes": [],
        }


def _comparison_json(comparison: Comparison, others: Sequence[RunSummary]) -> results_wire.RunComparison:
    run = next(other for other in others if other.results == comparison.after.results)
    points = _points(comparison)
    better = sum(change.better for change in comparison.changes)
    return {
        "run": str(run.results.absolute()),
        "problem": None,
        "beforeName": comparison.before_name,
        "afterName": comparison.after_name,
        "pairs": comparison.pairs,
        "better": better,
        "worse": len(comparison.changes) - better,
        "metrics": [
            {
                "name": metric.metric,
                "kind": metric.kind,
                "verdict": metric.verdict,
                "message": metric.message,
                "points": _spread(points[metric.metric]),
                "moves": _moves(points[metric.metric]),
                "pValue": metric.p_value,
                "before": metric.difference.before,
                "after": metric.difference.after,
                "difference": metric.difference.difference,
                "low": metric.difference.low,
                "high": metric.difference.high,
            }
            for metric in comparison.metrics
        ],
        "notes": list(comparison.notes),
    }


def _points(comparison: Comparison) -> dict[str, Counter[tuple[float, float]]]:
    """Return by metric the distinct pairs of scores, before and after, each with its number of rows."""
    metrics = [
        metric for each in comparison.metrics if (metric := comparison.before.metric(each.metric)) is not None
    ]
    columns = [scored_columns(run) for run in (comparison.before, comparison.after)]
    pairs = [
        (left, right)
        for left, right in paired_places(comparison.before, comparison.after)
        if left is not None and right is not None
    ]
    places = [left for left, _ in pairs], [right for _, right in pairs]
    counts: dict[str, Counter[tuple[float, float]]] = {}
    for metric in metrics:
        old, new = (map(each[metric.name].__getitem__, at) for each, at in zip(columns, places, strict=True))
        texts = Counter(zip(old, new, strict=True))
        counts[metric.name] = Counter()
        for (left, right), rows in texts.items():
            before, after = metric.number_of(left), metric.number_of(right)
            if before is not None and after is not None:
                counts[metric.name][before, after] += rows
    return counts


def _moves(counts: Counter[tuple[float, float]]) -> results_wire.Moves:
    return {
        "higher": sum(rows for (before, after), rows in counts.items() if after > before),
        "lower": sum(rows for (before, after), rows in counts.items() if after < before),
        "same": sum(rows for (before, after), rows in counts.items() if after == before),
    }


def _spread(counts: Counter[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Return the pairs as `(before, after, rows)`; of very many, only a selection."""
    points = [(before, after, count) for (before, after), count in sorted(counts.items())]
    step = -(-len(points) // MAX_POINTS) or 1
    return points[::step]


MAX_HISTORY = 60
"""The number of runs in the history chart of an experiment."""

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
"""Common names of dataset columns with the whole response, the most reliable first."""


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
    columns = list(table_columns(run))
    notes, problem = _notes(run)
    return {
        "path": str(run.results.absolute()),
        "name": run.name,
        "experiment": run.experiment,
        "prompt": str(run.prompt),
        "promptName": run.prompt.name,
        "dataset": None if run.dataset is None else run.dataset.name,
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
        "free": _is_free(run),
        "rowsChosen": run.rows_chosen,
        "isComplete": run.is_complete,
        "canComplete": not (run.is_complete or run.stale or is_of_examples(run.rows_chosen)),
        "stale": run.stale,
        "commit": run.commit,
        "dirty": run.dirty,
        "columns": columns,
        "expected": expected_columns(columns),
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


def _is_free(run: RunSummary) -> bool:
    """Return whether no call cost money: all models, including those of metrics, run on this machine."""
    if run.cost:
        return False
    manifest = manifest_of(run.manifest)
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
    """Return the classification reports of the run; empty if no column contains classes.

    Expected values that are all different are no classes.
    """
    try:
        return [
            cast("results_wire.ClassificationJson", asdict(report))
            for report in classifications(runs[0])
            if any(score.support > 1 for score in report.classes)
        ]
    except UserError:
        return []


def _history(run: RunSummary) -> list[results_wire.HistoryRun]:
    """Return the finished runs of the experiment, the oldest first."""
    known = known_runs(run.results.parent, prompt=run.prompt, experiment=run.experiment, limit=MAX_HISTORY)
    return [_known_json(each, run) for each in reversed(known) if each.status == "finished"]


def _others(run: RunSummary) -> list[results_wire.HistoryRun]:
    """Return the last finished runs of other prompts and experiments in the folder, the oldest first."""
    known = known_runs(run.results.parent, limit=4 * MAX_HISTORY)
    own = (Path(os.path.normpath(run.prompt)), run.experiment)
    others = [each for each in known if each.status == "finished" and (each.prompt, each.experiment) != own]
    return [_known_json(each, run) for each in reversed(others[:MAX_HISTORY])]


def _known_json(known: RunSummary, shown: RunSummary) -> results_wire.HistoryRun:
    return {
        "path": str(known.results),
        "name": known.name,
        "promptName": known.prompt.name,
        "started": known.started,
        "models": list(known.models),
        "rows": known.rows,
        "rowsChosen": known.rows_chosen,
        "isComplete": known.is_complete,
        "isComparable": known.is_complete
        and (known.experiment, known.dataset_hash) == (shown.experiment, shown.dataset_hash),
        "cached": known.cached,
        "scores": known.scores,
        "values": known.values,
    }
