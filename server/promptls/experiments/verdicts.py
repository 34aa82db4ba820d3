"""Verdicts on rows: passed, failed or errored, and why; and the thresholds of scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from xml.etree.ElementTree import Element, SubElement

from promptls.experiments.history import (
    MetricSummary,
    RunSummary,
    has_digest,
    last_runs,
    row_results,
)
from promptls.experiments.result_pages import cached_by_tables
from promptls.experiments.results_table import PREDICTED_PREFIX, plain_cells, python_cells
from promptls.experiments.row_choice import RowChoice, chosen_rows, is_of_examples, numbered_rows
from promptls.experiments.scores import RowResult
from promptls.experiments.unfinished import RunFollower
from promptls.security.files import cached_by_file, open_text
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import junit_text, shorten_line, xml_text
from promptls.text.suggest import did_you_mean

_MAX_ROWS: Final = 5000
_MAX_FAILED: Final = 200
_MAX_REASON: Final = 200


class FailedRow(NamedTuple):
    """A result that is not good: its row's number in the dataset, from 1, why, and the cells of its line.

    `is_error` means that there is no answer; otherwise, a metric gave a bad score.
    """

    number: int
    message: str
    is_error: bool
    cells: Mapping[str, str]
    place: int
    """The result's position in the run's table, counted from 1."""


def failed_rows(run: RunSummary) -> tuple[FailedRow, ...]:
    """Return the first 200 results of the run that are not good, in table order.

    Empty if the table no longer exists, or is damaged.
    """
    try:
        return _failed_rows([run])
    except (UserError, OSError, ValueError):
        return ()


@cached_by_tables
def _failed_rows(runs: Sequence[RunSummary]) -> tuple[FailedRow, ...]:
    return tuple(islice(_failed(runs[0], _MAX_ROWS), _MAX_FAILED))


def standing_failures(newest_first: Iterable[RunSummary]) -> Iterator[tuple[RunSummary, FailedRow]]:
    """Yield the rows of an experiment whose latest result is not good, each with its run.

    Runs of a prompt that has changed since, and runs over the prompt's examples, are ignored.
    """
    covered: set[int] = set()
    for run in newest_first:
        if run.stale or is_of_examples(run.rows_chosen):
            continue
        yield from ((run, row) for row in failed_rows(run) if row.number not in covered)
        if run.is_complete:
            return
        covered |= _numbers(run.results)


def failing_numbers(newest_first: Iterable[RunSummary]) -> frozenset[int]:
    """Return the numbers, counted from 1, of rows whose latest result in these runs is not good.

    Raises `UserError` if the table of a run no longer exists.
    """
    found: set[int] = set()
    covered: set[int] = set()
    for run in newest_first:
        if not is_of_examples(run.rows_chosen):
            found |= {row.number for row in _failed(run, None)} - covered
            covered |= _numbers(run.results)
    return frozenset(found)


@cached_by_file(32)
def _numbers(table: Path) -> frozenset[int]:
    """Return the numbers of the rows that have results in a run; empty if its table cannot be read."""
    try:
        with open_text(table) as stream:
            return frozenset(
                int(cells["row_number"])
                for cells in csv.DictReader(stream)
                if (cells.get("row_number") or "").isdecimal()
            )
    except (OSError, UnicodeDecodeError, csv.Error):
        return frozenset()


def unchanged_dataset(run: RunSummary) -> Path | None:
    """Return the run's dataset, or None if it has changed since."""
    is_same = run.dataset is not None and has_digest(run.dataset, str(run.dataset_hash))
    return run.dataset if is_same else None


class _Run(NamedTuple):
    """The properties of a run that is going on; its metrics have no scores yet."""

    models: tuple[str, ...]
    metrics: tuple[MetricSummary, ...]


def describe_failure(run: RunSummary | _Run, cells: Mapping[str, str]) -> str | None:
    """Return what is wrong with a line of a run's table: its error, or a bad score.

    None if nothing is wrong.
    """
    model = f" with `{cells.get('model')}`" if len(run.models) > 1 else ""
    error = cells.get("error")
    if error:
        return f"failed{model}: {shorten_line(error, _MAX_REASON)}"
    said = [text for metric in run.metrics if (text := _describe_bad_score(metric, cells))]
    return f"{'; '.join(said)}{model}" if said else None


def _failed(run: RunSummary, limit: int | None) -> Iterator[FailedRow]:
    for place, cells in enumerate(islice(row_results(run), limit), start=1):
        number = cells.get("row_number") or ""
        message = describe_failure(run, cells) if number.isdecimal() else None
        if message is not None:
            yield FailedRow(int(number), message, bool(cells.get("error")), cells, place)


def _describe_bad_score(metric: MetricSummary, cells: Mapping[str, Any]) -> str | None:
    """Return how a metric judges a bad result; None if it is good, or the metric has no good class."""
    score = cells.get(metric.name)
    if metric.good is None or not score or score == metric.good:
        return None
    reason = cells.get(f"{metric.name}_reason")
    return f"{metric.name} says `{score}`" + (f": {shorten_line(reason, _MAX_REASON)}" if reason else "")


def failing_choice(prompt: Path, experiment: str) -> RowChoice:
    """Return the rows whose latest result is not good; raises `UsageError` if there are none."""
    before = last_runs(prompt, experiment)
    if before.scored is None:
        raise UsageError(
            "no run has shown yet which rows fail",
            FilePlace(prompt),
            "run all rows first: leave out `--rows failing`",
        )
    numbers = failing_numbers(before.newest_first)
    if not numbers:
        raise UsageError(
            f"no row failed in {before.scored.name}", FilePlace(before.scored.results), "run all rows"
        )
    return numbered_rows(numbers)


State: TypeAlias = Literal["passed", "failed", "errored"]

_RANK: tuple[State, ...] = ("passed", "failed", "errored")


class RowVerdict(NamedTuple):
    """The verdict on a row, from all its results in a run; `number` counts from 1.

    A row is `passed` if no metric objects to it, and `errored` if there is no answer. `expected` is
    the dataset's expected value, if any, in the form of `actual`; `seconds` is the total duration of the
    answers.
    """

    number: int
    state: State
    message: str
    expected: str | None
    actual: str
    seconds: float | None


def row_verdicts(run: RunSummary) -> tuple[RowVerdict, ...]:
    """Return the verdict on each row of the run, in table order.

    Raises `UserError` if the table no longer exists.

    If a row has several results (models, repeats), the worst one is used.
    """
    found: dict[int, RowVerdict] = {}
    for cells in row_results(run):
        number = cells.get("row_number") or ""
        if number.isdecimal():
            verdict = verdict_of(run, int(number), cells)
            known = found.get(verdict.number)
            found[verdict.number] = verdict if known is None else together(known, verdict)
    return tuple(found.values())


def latest_verdicts(newest_first: Iterable[RunSummary]) -> Iterator[tuple[RunSummary, RowVerdict]]:
    """Yield the latest verdict on each row in these runs of an experiment, with its run."""
    seen: set[int] = set()
    for run in newest_first:
        for verdict in row_verdicts(run):
            if verdict.number not in seen:
                seen.add(verdict.number)
                yield run, verdict


def verdict_of(run: RunSummary | _Run, number: int, cells: Mapping[str, str]) -> RowVerdict:
    """Return the verdict on a result, whose line of the run's table is `cells`."""
    message = describe_failure(run, cells)
    state: State = "passed" if message is None else "errored" if cells.get("error") else "failed"
    return RowVerdict(number, state, message or "", *_sides(cells), _seconds(cells))


def _seconds(cells: Mapping[str, str]) -> float | None:
    """Return the duration of the answer; None if it is unknown, as in tables that a program has written."""
    try:
        return float(cells.get("seconds") or "")
    except ValueError:
        return None


def together(one: RowVerdict, other: RowVerdict) -> RowVerdict:
    """Combine the verdicts of two results of a row: the worse verdict, with the reasons of both."""
    worse = max(one, other, key=lambda verdict: _RANK.index(verdict.state))
    messages = dict.fromkeys(message for message in (one.message, other.message) if message)
    seconds = [each for each in (one.seconds, other.seconds) if each is not None]
    return worse._replace(message="\n".join(messages), seconds=sum(seconds) if seconds else None)


def _sides(cells: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the expected and the actual value, in the same form, so that they can be compared."""
    keys = [
        column.removeprefix(PREDICTED_PREFIX)
        for column in cells
        if column.startswith(PREDICTED_PREFIX) and column.removeprefix(PREDICTED_PREFIX) in cells
    ]
    if keys:
        expected = {key: cells.get(key) or "" for key in keys}
        actual = {key: cells.get(f"{PREDICTED_PREFIX}{key}") or "" for key in keys}
        if any(expected.values()) and any(actual.values()):
            return _json(expected), _json(actual)
    response = cells.get("response") or ""
    said = next((cells[name] for name in ("expected", "row_response", "reference") if cells.get(name)), None)
    return said, response


def _json(values: Mapping[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2)


class LiveVerdicts:
    """Follows the verdicts of an active run; not thread-safe."""

    def __init__(self, path: Path, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Follow the run with this path; `metrics` are those of the event `Started`."""
        self._follower = RunFollower(path)
        self._run = _Run((), tuple(map(_without_scores, metrics)))
        self._header: Mapping[str, Any] = {}
        self._known: dict[int, RowVerdict] = {}

    def fresh(self) -> list[RowVerdict]:
        """Return new and changed verdicts since the last call; empty if the run no longer exists.

        If a row has several results (models, repeats), the worst one so far is used.
        """
        changed: dict[int, RowVerdict] = {}
        header, results = self._follower.new_results()
        if header is not None:
            self._header = header
            self._run = self._run._replace(models=tuple(str(model["name"]) for model in header["models"]))
        for result in results:
            verdict = verdict_of(self._run, result.number, self._cells(result))
            known = self._known.get(result.number)
            changed[result.number] = verdict if known is None else together(known, verdict)
            self._known[result.number] = changed[result.number]
        return list(changed.values())

    def _cells(self, result: RowResult) -> Mapping[str, str]:
        if "written_in" in self._header:
            return python_cells(result, str(self._header.get("experiment")))
        schema = self._header["settings"].get("json_schema")
        names = [metric.name for metric in self._run.metrics]
        return plain_cells(result, str(self._header.get("experiment")), schema, names)


def _without_scores(metric: Mapping[str, Any]) -> MetricSummary:
    return MetricSummary(metric["name"], metric["kind"], None, "", 0, 0, {}, metric["allowed_values"])


class Threshold(NamedTuple):
    """The worst acceptable score of a metric: a proportion of the good class, or a mean.

    It is a minimum, or a maximum if lower is better.
    """

    metric: str
    bound: float

    def is_missed_by(self, run: RunSummary) -> bool:
        """Return whether the run scores worse, or has no score at all."""
        found = run.metric(self.metric)
        if found is None or found.value is None:
            return True
        return found.value > self.bound if found.lower_is_better else found.value < self.bound

    def partial_message(self, run: RunSummary) -> str:
        """Return why the threshold does not apply to a partial run, with its score."""
        return (
            f"{run.name}: {self.metric} is {self._score(run)} over {chosen_rows(str(run.rows_chosen))}; "
            "thresholds apply to complete runs only"
        )

    def message(self, run: RunSummary) -> str:
        """Return the message for a missed threshold."""
        found = run.metric(self.metric)
        score = self._score(run)
        limit = "most" if found is not None and found.lower_is_better else "least"
        bound = (
            f"{self.bound * 100:g} %" if found is not None and found.kind == "discrete" else f"{self.bound:g}"
        )
        return f"{run.name}: {self.metric} is {score}, and must be at {limit} {bound}"

    def _score(self, run: RunSummary) -> str:
        found = run.metric(self.metric)
        return "no score" if found is None or found.value is None else found.text


def thresholds_of(declared: Mapping[str, float], others: Iterable[Threshold]) -> list[Threshold]:
    """Return the declared thresholds, and `others`, which override those of the same metric."""
    chosen = {**declared, **{each.metric: each.bound for each in others}}
    return [Threshold(metric, bound) for metric, bound in chosen.items()]


def check_thresholds(thresholds: Iterable[Threshold], metrics: list[str]) -> None:
    """Raise `UsageError` for a threshold of an unknown metric."""
    for each in thresholds:
        if each.metric not in metrics:
            raise UsageError(
                f"the experiment has no metric `{each.metric}`{did_you_mean(each.metric, metrics)}",
                remedy=f"its metrics are {', '.join(f'`{name}`' for name in metrics) or 'none'}",
            )


_SHOWN: Final = 2000
"""Maximum length of an answer in a failed case."""


def junit_report(judged: Iterable[tuple[RunSummary, Sequence[Threshold]]]) -> str:
    """Return the JUnit report of runs and their thresholds, as XML.

    A row without an answer is an error. If thresholds are set, each is a test case and only they can fail,
    and a row with a bad score passes with the reason as output; without thresholds, such a row is a failure.
    """
    root = Element("testsuites", name="promptls")
    for run, thresholds in judged:
        for model in run.models:
            _suite(root, run, model, thresholds)
    return junit_text(root)


def _suite(root: Element, run: RunSummary, model: str, thresholds: Sequence[Threshold]) -> None:
    suite = SubElement(root, "testsuite", name=xml_text(f"{run.name} {model}"), skipped="0")
    if not run.is_complete:
        properties = SubElement(suite, "properties")
        SubElement(properties, "property", name="partial", value=xml_text(chosen_rows(str(run.rows_chosen))))
    seconds = 0.0
    for cells in row_results(run):
        if cells["model"] == model:
            seconds += _seconds(cells) or 0
            _case(suite, run, cells, are_failures=not thresholds)
    for limit in thresholds:
        case = SubElement(suite, "testcase", name=xml_text(f"threshold of {limit.metric}"), time="0")
        if limit.is_missed_by(run):
            SubElement(case, "failure", message=xml_text(limit.message(run)))
    suite.set("time", f"{seconds:.3f}")


def _case(suite: Element, run: RunSummary, cells: Mapping[str, str], *, are_failures: bool) -> None:
    """Add the case of a row; with `are_failures`, bad scores are failures, otherwise output."""
    case = SubElement(
        suite,
        "testcase",
        name=xml_text(_name(cells)),
        classname=xml_text(f"{run.prompt.name}.{run.experiment}"),
        time=f"{_seconds(cells) or 0:g}",
    )
    said = list(_said(run, cells))
    if cells["error"]:
        SubElement(case, "error", message=xml_text(cells["error"]))
    elif said and are_failures:
        failure = SubElement(case, "failure", message=xml_text("; ".join(said)))
        failure.text = xml_text((cells.get("response") or "")[:_SHOWN])
    elif said:
        SubElement(case, "system-out").text = xml_text("\n".join(said))


def _name(cells: Mapping[str, str]) -> str:
    repeat = f", repeat {cells['repeat']}" if cells["repeat"] != "1" else ""
    return f"row {cells['row_number']} (id {cells['id']}){repeat}"


def _said(run: RunSummary, cells: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the answer: its form, and bad scores of discrete metrics."""
    if cells.get("problem"):
        yield str(cells["problem"])
    for metric in run.metrics:
        score = cells.get(metric.name)
        if metric.good is not None and score and score != metric.good:
            reason = cells.get(f"{metric.name}_reason")
            yield f"{metric.name} is `{score}`" + (f": {reason}" if reason else "")
