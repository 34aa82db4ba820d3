"""Runs of experiments as a JUnit report: a suite a run and model, a test case a row, and the thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from promptls.text.format import xml_text

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.experiments.thresholds import Threshold

# Characters of an answer that a failed case shows.
SHOWN = 2000


def render(judged: Iterable[tuple[RunSummary, Sequence[Threshold]]]) -> str:
    """Return the report as XML, of runs each with its thresholds.

    A row without an answer is an error. Where thresholds are set, they alone decide, each a case of its own,
    and a row that scores badly passes with the reason as output; without any, such a row is a failure.
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
    """Yield what is wrong with the answer: its form, and the discrete metrics that do not find it good."""
    if cells.get("problem"):
        yield str(cells["problem"])
    for metric in run.metrics:
        good = str(metric.allowed_values[0]) if metric.kind == "discrete" and metric.allowed_values else None
        score = cells.get(metric.name)
        if good is not None and score and score != good:
            reason = cells.get(f"{metric.name}_reason")
            yield f"{metric.name} is `{score}`" + (f": {reason}" if reason else "")
