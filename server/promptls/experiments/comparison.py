"""Comparison of runs: by row, with statistics, and described in plain language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from promptls.datasets.cells import spreadsheet_line
from promptls.experiments.history import MetricSummary, RunSummary
from promptls.experiments.manifest import prompt_stem
from promptls.experiments.result_pages import RowKey, lines_by_row, scored_columns, table_of
from promptls.experiments.statistics import (
    Difference,
    correct_p_values,
    is_clear,
    paired_difference,
    pooled_spread,
)
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code, plural

Verdict: TypeAlias = Literal["better", "worse", "inconclusive"]
_SMALLEST: Final = 0.001
"""The smallest p-value that is printed; smaller ones say little more."""


class Chance(NamedTuple):
    """The corrected p-value, and the number of differences it is corrected for."""

    p_value: float
    compared: int

    def __str__(self) -> str:
        said = f"p < {_SMALLEST}" if self.p_value < _SMALLEST else f"p = {self.p_value:.2g}"
        return said if self.compared == 1 else f"{said} among {self.compared} comparisons"


def unit_of(kind: str) -> str:
    """Return the unit of differences of this kind of metric, with a leading space; empty for numbers."""
    return " points" if kind == "discrete" else ""


def describe_difference(kind: str, verdict: Verdict, found: Difference, chance: Chance, name: str) -> str:
    """Return the sentence about one metric of the run `name`."""
    unit = unit_of(kind)
    if verdict != "inconclusive":
        # "Worse by 25" needs no sign; neither does its interval.
        sign = 1 if found.difference > 0 else -1
        low, high = sorted((sign * found.low, sign * found.high))
        interval = f"95 % interval {amount(kind, low)} to {amount(kind, high)}, {chance}"
        return f"{name} is {verdict} by {amount(kind, sign * found.difference)}{unit} ({interval})"
    if found.low == found.high == 0:
        return f"inconclusive at n = {found.pairs:,}: each row scores the same in both"
    interval = f"95 % interval {amount(kind, found.low, '+')} to {amount(kind, found.high, '+')}, {chance}"
    if found.needed is None:
        return f"inconclusive at n = {found.pairs:,}: both score the same ({interval})"
    seen = f"difference {amount(kind, found.difference, '+')}{unit}, {interval}"
    if is_clear(found.p_value):
        return (
            f"inconclusive among {chance.compared} comparisons ({seen}): looked at alone it would "
            "count, but of so many differences one like it may well be chance; run this comparison again "
            "on rows of its own"
        )
    # The estimate assumes many rows; an exact test of few rows needs more.
    needed = "some more rows" if found.needed <= found.pairs else f"about {_round(found.needed)} rows"
    return (
        f"inconclusive at n = {found.pairs:,} ({seen}); {needed} "
        "would be needed to be sure of a difference of this size"
    )


def amount(kind: str, value: float, sign: str = "-") -> str:
    """Format a difference, in percentage points for proportions; `sign` is a format's sign option.

    Differences below one point are shown with one significant digit, so that they do not appear as zero.
    """
    if kind != "discrete":
        return f"{value:{sign}.3g}"
    points = round(value * 100, 9) + 0.0  # not -0.0
    decimals = 0 if points == 0 or abs(points) >= 1 else -floor(log10(abs(points)))
    return f"{points:{sign}.{decimals}f}"


def _round(rows: int) -> str:
    """Return an estimated number of rows, rounded to two digits."""
    digits = max(0, len(str(rows)) - 2)
    return f"{round(rows, -digits):,}"


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """The comparison of a metric in two runs; `message` describes the difference.

    `p_value` is corrected for the number of differences that were tested together, `compared`.
    """

    metric: str
    kind: str
    verdict: Verdict
    difference: Difference
    p_value: float
    compared: int
    message: str


class RowChange(NamedTuple):
    """A row whose score differs between the runs."""

    id: str
    metric: str
    before: str
    after: str
    better: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two runs; `notes` describe other differences between them."""

    before: RunSummary
    after: RunSummary
    before_name: str
    after_name: str
    pairs: int
    metrics: tuple[MetricComparison, ...]
    changes: tuple[RowChange, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    """A metric measured in two runs, before correction for multiple comparisons."""

    metric: MetricSummary
    difference: Difference


def compare_with(before: RunSummary, others: Sequence[RunSummary]) -> tuple[Comparison, ...]:
    """Compare a run with each of the others, over the metrics and rows that both have.

    Rows are matched by `id`, or by number if the dataset has no ids. Raises
    `UsageError` if the runs have no common metric or no common row. All p-values are corrected together,
    since one of many tested differences may be due to chance.
    """
    measured = [_measure(before, other) for other in others]
    differences = [each.difference for _, metrics in measured for each in metrics]
    p_values = iter(correct_p_values([each.p_value for each in differences]))

    def judged(each: _Measured, name: str) -> MetricComparison:
        return _judge(each, next(p_values), len(differences), name)

    return tuple(
        replace(pair, metrics=tuple(judged(each, pair.after_name) for each in metrics))
        for pair, metrics in measured
    )


def _measure(before: RunSummary, after: RunSummary) -> tuple[Comparison, list[_Measured]]:
    """Return the comparison without its metrics, and the metrics before correction."""
    names = _names(before, after)
    shared = [metric for metric in before.metrics if after.metric(metric.name)]
    if not shared:
        raise UsageError(
            "the runs have no metric in common",
            FilePlace(after.results),
            f"{names[0]} has {_listed(before)}, {names[1]} has {_listed(after)}",
        )
    by_model = set(before.models) == set(after.models)
    before_rows, after_rows = (lines_by_row(table_of(run), by_model=by_model) for run in (before, after))
    common = [key for key in before_rows if key in after_rows]
    if not common:
        raise UsageError(
            "the runs have no row in common",
            FilePlace(after.results),
            "compare runs over the same dataset",
        )
    places = [before_rows[key] for key in common], [after_rows[key] for key in common]
    metrics: list[_Measured] = []
    changes: list[RowChange] = []
    unscored: dict[str, list[str]] = defaultdict(list)
    notes = _notes(before, after, names, len(before_rows), len(after_rows), len(common))
    for metric in shared:
        columns = _Column(metric, before, places[0]), _Column(metric, after, places[1])
        pairs = [
            (at, old, new)
            for at, (old, new) in enumerate(zip(columns[0].scores, columns[1].scores, strict=True))
            if old is not None and new is not None
        ]
        if not pairs:
            notes.append(f"{metric.name}: no row has a score in both runs")
            continue
        difference = _difference(metric, [old for _, old, _ in pairs], [new for _, _, new in pairs])
        metrics.append(_Measured(metric, difference))
        changes += _changes(metric, columns, pairs, common)
        if len(pairs) < len(common):
            unscored[plural(len(common) - len(pairs), "row")].append(metric.name)
        notes += _notes_on_spread(metric, names, columns)
    notes += [
        f"{', '.join(metrics_of)}: {without} left out, because there is no score"
        for without, metrics_of in unscored.items()
    ]
    return Comparison(before, after, *names, len(common), (), tuple(changes), tuple(notes)), metrics


def _changes(
    metric: MetricSummary,
    columns: tuple[_Column, _Column],
    pairs: Sequence[tuple[int, float, float]],
    keys: Sequence[RowKey],
) -> Iterator[RowChange]:
    """Yield the rows whose score differs; a pair is the index of a row with both scores."""
    for at, old, new in pairs:
        if old != new:
            texts = columns[0].text(at), columns[1].text(at)
            yield RowChange(keys[at][0], metric.name, *texts, (new > old) is not metric.lower_is_better)


def _notes_on_spread(
    metric: MetricSummary, names: Sequence[str], columns: Sequence[_Column]
) -> Iterator[str]:
    for name, column in zip(names, columns, strict=True):
        if spread := column.spread():
            yield (
                f"{metric.name}: asked again about the same row, {name} differs from its mean by "
                f"{amount(metric.kind, spread)}{unit_of(metric.kind)} (standard deviation)"
            )


def write_combined(path: Path, runs: Sequence[RunSummary]) -> None:
    """Write the rows of the runs side by side as CSV, atomically; raises OSError.

    Each row is one line. A column that is equal in all runs is written once, any other column once for
    each run, with the run's name: `priority (triage_v1)`.
    """
    tables = [_cells_by_line(run) for run in runs]
    rows = list(dict.fromkeys(key for lines in tables for key in lines))
    columns = list(dict.fromkeys(name for lines in tables for cells in lines.values() for name in cells))
    names = _distinct_names(runs)
    picked: list[tuple[str, str, int | None]] = []
    for column in columns:
        if all(len({lines[key].get(column, "") for lines in tables if key in lines}) == 1 for key in rows):
            picked.append((column, column, None))
        else:
            picked += [(f"{column} ({name})", column, index) for index, name in enumerate(names)]
    with replace_file(path) as stream:
        stream.write(spreadsheet_line([title for title, _, _ in picked]))
        for key in rows:
            own = next(lines[key] for lines in tables if key in lines)
            cells = [
                (own if index is None else tables[index].get(key, {})).get(column, "")
                for _, column, index in picked
            ]
            stream.write(spreadsheet_line(cells))


def _cells_by_line(run: RunSummary) -> dict[tuple[RowKey, int], dict[str, str]]:
    """Return the lines of the run's table by row, and by their number in it."""
    table = table_of(run)
    lines = list(table.all_lines())
    rows = lines_by_row(table, by_model=False)
    return {
        (key, number): lines[place] for key, places in rows.items() for number, place in enumerate(places)
    }


def _distinct_names(runs: Sequence[RunSummary]) -> list[str]:
    names = [prompt_stem(run.prompt) for run in runs]
    return names if len(set(names)) == len(names) else [run.name for run in runs]


class _Column:
    """The scores of a metric in a run's table: the mean of each row's repeats, at the positions `places`."""

    def __init__(self, metric: MetricSummary, run: RunSummary, places: Sequence[Sequence[int]]) -> None:
        self._cells = scored_columns(run)[metric.name]
        self._places = places
        # Many cells contain the same few texts.
        self._numbers = {cell: metric.number_of(cell) for cell in set(self._cells)}
        self.scores: list[float | None] = [
            self._numbers.get(self._cells[each[0]]) if len(each) == 1 else self._mean(each) for each in places
        ]
        """None for a row without a score, and for every row of a ranking."""

    def text(self, at: int) -> str:
        """Return the score of a row as in the table, with those of its repeats joined."""
        places = self._places[at]
        if len(places) == 1:
            return self._cells[places[0]]
        return "/".join(dict.fromkeys(cell for place in places if (cell := self._cells[place])))

    def spread(self) -> float | None:
        """Return the standard deviation of repeats from their row's mean; None without repeats."""
        if all(len(each) == 1 for each in self._places):
            return None
        return pooled_spread([self._values(each) for each in self._places])

    def _values(self, places: Sequence[int]) -> list[float]:
        found = (self._numbers.get(self._cells[place]) for place in places)
        return [value for value in found if value is not None]

    def _mean(self, places: Sequence[int]) -> float | None:
        values = self._values(places)
        return sum(values) / len(values) if values else None


def _difference(metric: MetricSummary, before: Sequence[float], after: Sequence[float]) -> Difference:
    two_valued = metric.kind == "discrete" and {*before, *after} <= {0.0, 1.0}
    return paired_difference(before, after, two_valued=two_valued)


def _judge(measured: _Measured, p_value: float, compared: int, name: str) -> MetricComparison:
    found, metric = measured.difference, measured.metric
    verdict: Verdict = "inconclusive"
    if is_clear(p_value):
        verdict = "better" if (found.difference > 0) is not metric.lower_is_better else "worse"
    message = describe_difference(metric.kind, verdict, found, Chance(p_value, compared), name)
    return MetricComparison(metric.name, metric.kind, verdict, found, p_value, compared, message)


def _names(before: RunSummary, after: RunSummary) -> tuple[str, str]:
    """Return distinct names for the two runs: of the prompts, else of the models, else of the runs."""
    for old, new in (
        (prompt_stem(before.prompt), prompt_stem(after.prompt)),
        (" + ".join(before.models), " + ".join(after.models)),
    ):
        if old != new:
            return old, new
    return before.name, after.name


def _listed(run: RunSummary) -> str:
    return in_code(metric.name for metric in run.metrics) or "none"


def _notes(
    before: RunSummary, after: RunSummary, names: tuple[str, str], old_rows: int, new_rows: int, common: int
) -> list[str]:
    notes = []
    if before.models != after.models and prompt_stem(before.prompt) != prompt_stem(after.prompt):
        notes.append(
            f"the models differ too: {' + '.join(before.models)} and {' + '.join(after.models)}; "
            "change one thing at a time to know what made the difference"
        )
    notes += [
        f"{plural(count - common, 'row')} only in {name}"
        for name, count in zip(names, (old_rows, new_rows), strict=True)
        if count > common
    ]
    notes += [
        f"{plural(run.failed, 'row')} of {name} failed"
        for name, run in zip(names, (before, after), strict=True)
        if run.failed
    ]
    return notes
