"""The scores of a run for charts: an interval around each, and how the values are distributed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from promptls.experiments.history import MetricSummary, RunSummary
from promptls.experiments.result_pages import scored_columns
from promptls.experiments.scores import good_class
from promptls.results_view import wire

# Bars of a distribution.
BARS = 20
# With no more different values than this, each has a bar of its own.
FEW_VALUES = 12
# The quantile of the normal distribution for an interval of 95 %.
_Z = 1.959964


def scores_json(run: RunSummary) -> list[wire.Metric]:
    """Return each metric of the run with its 95 % interval, `low` and `high`, and its distribution.

    The interval is over rows, the repeats of a row together: Wilson's for shares, else that of the mean by
    its standard error. It is None if fewer than two rows have a score.
    """
    columns = scored_columns(run)
    keys = list(zip(columns["row_number"], columns["model"], strict=True))
    # Without numbers, and where none comes twice, each line is a row of its own.
    are_single = len(set(keys)) == len(keys) or not any(columns["row_number"])
    return [
        _metric_json(metric, _units(metric, columns[metric.name], None if are_single else keys))
        for metric in run.metrics
    ]


def _units(
    metric: MetricSummary, cells: Sequence[str], keys: Sequence[tuple[str, str]] | None
) -> list[list[float]]:
    """Return the numbers of each row, its repeats together: rows with the same key if `keys` are given."""
    numbers = {cell: number_of(metric, cell) for cell in set(cells)}
    values = [numbers[cell] for cell in cells]
    if keys is None:
        return [[value] for value in values if value is not None]
    units: dict[tuple[str, str] | int, list[float]] = defaultdict(list)
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        if value is not None:
            units[key if key[0] else place].append(value)
    return list(units.values())


def quick_scores_json(run: RunSummary) -> list[wire.Metric]:
    """Return each metric as the manifest sums it up: without intervals, and with bars of classes alone."""
    return [
        {**_metric_json(metric, []), "bars": _bars(metric, []) if metric.kind == "discrete" else []}
        for metric in run.metrics
    ]


def number_of(metric: MetricSummary, cell: str) -> float | None:
    """Return a score as a number: 1 for the good class and 0 for another.

    None for a ranking and an empty cell.
    """
    if not cell or metric.kind == "ranking":
        return None
    if metric.kind == "discrete":
        good = good_class("discrete", metric.allowed_values)
        return None if good is None else float(cell == good)
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _metric_json(metric: MetricSummary, units: list[list[float]]) -> wire.Metric:
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
        "good": good_class("discrete", metric.allowed_values) if metric.kind == "discrete" else None,
        "lowerIsBetter": metric.lower_is_better,
        "bars": _bars(metric, [value for values in units for value in values]),
    }


def _interval(metric: MetricSummary, means: Sequence[float]) -> tuple[float | None, float | None]:
    count = len(means)
    if count < 2:  # noqa: PLR2004 - one row says nothing of the others
        return None, None
    mean = math.fsum(means) / count
    if metric.kind == "discrete" and all(value in {0.0, 1.0} for value in means):
        # Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
        centre = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
        reach = _Z * math.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
        return max(0.0, centre - reach), min(1.0, centre + reach)
    variance = math.fsum((value - mean) ** 2 for value in means) / (count - 1)
    reach = _Z * math.sqrt(variance / count)
    return mean - reach, mean + reach


def _bars(metric: MetricSummary, values: Sequence[float]) -> list[wire.Bar]:
    """Return labels with counts: the classes of a discrete metric, else ranges of the values."""
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
