"""Comparing two runs: row by row, with honest statistics, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from promptls.experiments.definition import prompt_stem
from promptls.experiments.history import MetricSummary, RunSummary, row_results
from promptls.experiments.statistics import Difference, paired_difference
from promptls.experiments.tally import good_class
from promptls.text.failure import FilePlace, WrongUse

Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric in two runs; `words` says what the difference means."""

    metric: str
    kind: str
    verdict: Verdict
    difference: Difference
    words: str


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row whose score is not the same in both runs."""

    id: str
    metric: str
    before: str
    after: str
    better: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side; `notes` say what else differs between them, in words."""

    before: RunSummary
    after: RunSummary
    before_name: str
    after_name: str
    pairs: int
    metrics: tuple[MetricComparison, ...]
    changes: tuple[RowChange, ...]
    notes: tuple[str, ...]


def compare_runs(before: RunSummary, after: RunSummary) -> Comparison:
    """The comparison of every metric that both runs have, over the rows that both have.

    Rows belong together by their `id`, or by their number where the data set has no ids. Raises
    `WrongUse` when the runs have no metric or no row in common.
    """
    names = _names(before, after)
    shared = [(metric, other) for metric in before.metrics if (other := after.metric(metric.name))]
    if not shared:
        raise WrongUse(
            "the runs have no metric in common",
            FilePlace(after.results),
            f"{names[0]} has {_listed(before)}, {names[1]} has {_listed(after)}",
        )
    by_model = set(before.models) == set(after.models)
    before_rows, after_rows = _rows(before, by_model=by_model), _rows(after, by_model=by_model)
    common = [key for key in before_rows if key in after_rows]
    if not common:
        raise WrongUse(
            "the runs have no row in common",
            FilePlace(after.results),
            "compare runs over the same data set",
        )
    metrics: list[MetricComparison] = []
    changes: list[RowChange] = []
    notes = _notes(before, after, names, len(before_rows), len(after_rows), len(common))
    for metric, _ in shared:
        pairs = _pairs(metric, before_rows, after_rows, common)
        if not pairs:
            notes.append(f"{metric.name}: no row has a score in both runs")
            continue
        metrics.append(_compared(metric, pairs, names[1]))
        changes += [
            RowChange(row[0], metric.name, old_text, new_text, new > old)
            for row, (old, new, old_text, new_text) in pairs.items()
            if old != new
        ]
        if len(pairs) < len(common):
            notes.append(
                f"{metric.name}: {len(common) - len(pairs)} rows are left out, because they have no score"
            )
    return Comparison(before, after, *names, len(common), tuple(metrics), tuple(changes), tuple(notes))


# A row's id, its occurrence among rows of that id, and its model where both runs had the same models.
_Key = tuple[str, int, str]
_Rows = Mapping[_Key, list[dict[str, str]]]
_Pairs = Mapping[_Key, tuple[float, float, str, str]]


def _rows(run: RunSummary, *, by_model: bool) -> _Rows:
    """The lines of the run's table by row, the repeats of a row together."""
    rows: dict[_Key, list[dict[str, str]]] = defaultdict(list)
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    for line in row_results(run):
        model = line["model"] if by_model else ""
        asking = (line["id"], line["model"], line["repeat"])
        seen[asking] += 1
        rows[line["id"], seen[asking], model].append(line)
    return rows


def _pairs(metric: MetricSummary, before: _Rows, after: _Rows, common: list[_Key]) -> _Pairs:
    pairs = {}
    for key in common:
        old, new = _score(metric, before[key]), _score(metric, after[key])
        if old is not None and new is not None:
            pairs[key] = (old[0], new[0], old[1], new[1])
    return pairs


def _score(metric: MetricSummary, lines: list[dict[str, str]]) -> tuple[float, str] | None:
    """The mean score of a row's repeats, and the score as the table has it; None without a score."""
    texts = [text for line in lines if (text := line.get(metric.name))]
    if not texts or metric.kind == "ranking":
        return None
    if metric.kind == "discrete":
        good = good_class("discrete", metric.allowed_values)
        values = [float(text == good) for text in texts]
    else:
        values = [float(text) for text in texts]
    return sum(values) / len(values), "/".join(dict.fromkeys(texts))


def _compared(metric: MetricSummary, pairs: _Pairs, name: str) -> MetricComparison:
    before = [old for old, _, _, _ in pairs.values()]
    after = [new for _, new, _, _ in pairs.values()]
    two_valued = {*before, *after} <= {0.0, 1.0} and metric.kind == "discrete"
    difference = paired_difference(before, after, two_valued=two_valued)
    verdict: Verdict = "undecided"
    if difference.is_clear:
        verdict = "better" if difference.difference > 0 else "worse"
    return MetricComparison(
        metric.name, metric.kind, verdict, difference, _in_words(metric.kind, verdict, difference, name)
    )


def _in_words(kind: str, verdict: Verdict, found: Difference, name: str) -> str:
    unit = " points" if kind == "discrete" else ""
    chance = "p < 0.001" if found.p_value < 0.001 else f"p = {found.p_value:.2g}"  # noqa: PLR2004
    if verdict != "undecided":
        # "Worse by 25" needs no sign, and neither does its interval.
        sign = 1 if verdict == "better" else -1
        low, high = sorted((sign * found.low, sign * found.high))
        interval = f"95 % interval {_amount(kind, low)} to {_amount(kind, high)}, {chance}"
        return f"{name} is {verdict} by {_amount(kind, sign * found.difference)}{unit} ({interval})"
    interval = f"95 % interval {_amount(kind, found.low, '+')} to {_amount(kind, found.high, '+')}, {chance}"
    if found.needed is None:
        return f"cannot be told apart at n = {found.pairs}: both score the same ({interval})"
    seen = f"difference {_amount(kind, found.difference, '+')}{unit}, {interval}"
    return (
        f"cannot be told apart at n = {found.pairs} ({seen}); about {_rounded(found.needed)} rows "
        "would be needed to be sure of a difference of this size"
    )


def _amount(kind: str, value: float, sign: str = "-") -> str:
    """A difference for people, in points where it is one of shares; `sign` is that of a format."""
    return f"{value * 100:{sign}.0f}" if kind == "discrete" else f"{value:{sign}.3g}"


def _rounded(rows: int) -> str:
    """A number of rows with two digits, because it is an estimate."""
    digits = max(0, len(str(rows)) - 2)
    return f"{round(rows, -digits):,}"


def _names(before: RunSummary, after: RunSummary) -> tuple[str, str]:
    """Names that tell the two runs apart: of the prompts, else of the models, else of the runs."""
    for old, new in (
        (prompt_stem(before.prompt), prompt_stem(after.prompt)),
        (" + ".join(before.models), " + ".join(after.models)),
    ):
        if old != new:
            return old, new
    return before.name, after.name


def _listed(run: RunSummary) -> str:
    return ", ".join(f"`{metric.name}`" for metric in run.metrics) or "none"


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
        f"{count - common} rows are only in {name}"
        for name, count in zip(names, (old_rows, new_rows), strict=True)
        if count > common
    ]
    notes += [
        f"{run.failed} rows of {name} failed"
        for name, run in zip(names, (before, after), strict=True)
        if run.failed
    ]
    return notes
