"""How runs compare, with the points of a chart: each row's score before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptls.experiments.comparison import Comparison, compare_with
from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import paired_places, scored_columns
from promptls.results_view import wire
from promptls.results_view.kept import kept_by_tables
from promptls.results_view.scores import number_of
from promptls.text.errors import UserError

# Different points that a chart shows; of more, these stand evenly among them.
MAX_POINTS = 2000


@kept_by_tables
def comparisons_json(runs: Sequence[RunSummary]) -> list[wire.RunComparison]:
    """Return the comparison of each other run with the first.

    Where two cannot be compared, `problem` says why.
    """
    first, *others = runs
    try:
        return [_comparison_json(each, others) for each in compare_with(first, others)]
    except UserError:
        # One that cannot be compared leaves the others: they are then corrected for among themselves.
        return [_alone(first, other) for other in others]


def _alone(first: RunSummary, other: RunSummary) -> wire.RunComparison:
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


def _comparison_json(comparison: Comparison, others: Sequence[RunSummary]) -> wire.RunComparison:
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
                "words": metric.words,
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
    """By metric, the different pairs of scores, before and after, each with how many rows have it."""
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
            before, after = number_of(metric, left), number_of(metric, right)
            if before is not None and after is not None:
                counts[metric.name][before, after] += rows
    return counts


def _moves(counts: Counter[tuple[float, float]]) -> wire.Moves:
    """In how many rows the score got higher, got lower and stayed."""
    return {
        "higher": sum(rows for (before, after), rows in counts.items() if after > before),
        "lower": sum(rows for (before, after), rows in counts.items() if after < before),
        "same": sum(rows for (before, after), rows in counts.items() if after == before),
    }


def _spread(counts: Counter[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Return the pairs as `(before, after, rows)`, of very many some."""
    points = [(before, after, count) for (before, after), count in sorted(counts.items())]
    step = -(-len(points) // MAX_POINTS) or 1
    return points[::step]
