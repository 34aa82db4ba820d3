"""Thresholds for scores, declared by an experiment, a command or a test, and the JUnit report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from promptls.experiments.history import RunSummary
from promptls.text.errors import UsageError
from promptls.text.format import xml_text
from promptls.text.suggest import did_you_mean


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
            f"{run.name}: {self.metric} is {self._score(run)} over rows {run.rows_chosen}; "
            "thresholds hold for complete runs only"
        )

    def words(self, run: RunSummary) -> str:
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


def thresholds_of(declared: Mapping[str, float], others: Iterable[Threshold] = ()) -> list[Threshold]:
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


# Maximum length of an answer in a failed case.
SHOWN = 2000


def render(judged: Iterable[tuple[RunSummary, Sequence[Threshold]]]) -> str:
    """Return the JUnit report of runs and their thresholds, as XML.

    A row without an answer is an error. If thresholds are set, each is a test case and only they can fail,
    and a row with a bad score passes with the reason as output; without thresholds, such a row is a failure.
    """
    root = Element("testsuites", name="promptls")
    for run, thresholds in judged:
        for model in run.models:
            _suite(root, run, model, thresholds)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, run: RunSummary, model: str, thresholds: Sequence[Threshold]) -> None:
    from promptls.experiments.history import row_results

    suite = SubElement(root, "testsuite", name=xml_text(f"{run.name} {model}"), skipped="0")
    if not run.is_complete:
        properties = SubElement(suite, "properties")
        SubElement(properties, "property", name="partial", value=xml_text(f"rows {run.rows_chosen}"))
    tests = failures = errors = 0
    seconds = 0.0
    for cells in row_results(run):
        if cells["model"] != model:
            continue
        tests += 1
        seconds += float(cells["seconds"] or 0)
        case = SubElement(
            suite,
            "testcase",
            name=xml_text(_name(cells)),
            classname=xml_text(f"{run.prompt.name}.{run.experiment}"),
            time=cells["seconds"] or "0",
        )
        said = list(_said(run, cells))
        if cells["error"]:
            errors += 1
            SubElement(case, "error", message=xml_text(cells["error"]))
        elif said and not thresholds:
            failures += 1
            failure = SubElement(case, "failure", message=xml_text("; ".join(said)))
            failure.text = xml_text(cells["response"][:SHOWN])
        elif said:
            SubElement(case, "system-out").text = xml_text("\n".join(said))
    for limit in thresholds:
        tests += 1
        case = SubElement(suite, "testcase", name=xml_text(f"threshold of {limit.metric}"), time="0")
        if limit.is_missed_by(run):
            failures += 1
            SubElement(case, "failure", message=xml_text(limit.words(run)))
    counts = {"tests": tests, "failures": failures, "errors": errors}
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{seconds:.3f}")


def _name(cells: Mapping[str, str]) -> str:
    repeat = f", repeat {cells['repeat']}" if cells["repeat"] != "1" else ""
    return f"row {cells['row_number']} (id {cells['id']}){repeat}"


def _said(run: RunSummary, cells: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the answer: its form, and bad scores of discrete metrics."""
    if cells.get("problem"):
        yield str(cells["problem"])
    for metric in run.metrics:
        good = str(metric.allowed_values[0]) if metric.kind == "discrete" and metric.allowed_values else None
        score = cells.get(metric.name)
        if good is not None and score and score != good:
            reason = cells.get(f"{metric.name}_reason")
            yield f"{metric.name} is `{score}`" + (f": {reason}" if reason else "")
