"""`promptls classes`: precision, recall and F1 per class, and a confusion matrix."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from promptls.cli.terminal import Column, TableRow, paint, print_json, table
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.experiments.classification import Classification

DESCRIPTION = """\
Report for each class how many of its predictions are right (precision), how many of its rows
are found (recall) and the harmonic mean of both (F1), and a confusion matrix.

A RUN is the path of its table or manifest, its name, or a prompt file (its last complete run).
By default, every column of the dataset is compared with the key of the same name in the
answers (`labels` with `predicted_labels`), or the column `expected`, or the one named like the
prompt's `output_key`, with the response.

examples:
  promptls classes triage.yml.j2                              all classes in the answers
  promptls classes triage.yml.j2 --expected priority
  promptls classes RUN --expected label --field ticket.label  a field of JSON answers
  promptls classes RUN --expected human --predicted polite    a judge against people

A cell with several classes, separated by `;`, counts for each of them.
The definitions are those of scikit-learn's `classification_report`.

exit codes: 0 reported, 1 a run cannot be read, 2 usage error"""

_LONGEST_NAME = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, its columns and the output's form."""
    parser.add_argument("run", metavar="RUN", help="the run: a table, a name or a prompt file")
    parser.add_argument("--expected", metavar="COLUMN", help="column with the expected classes")
    parser.add_argument(
        "--predicted", metavar="COLUMN", help="column with the classes predicted by the model or a metric"
    )
    parser.add_argument("--field", metavar="FIELD", help="field of a JSON response: `a.b` is b of a")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the reports."""
    from promptls.experiments.classification import classifications
    from promptls.experiments.named_runs import find_run

    run = find_run(arguments.run, complete=True)
    reports = classifications(
        run, expected=arguments.expected, predicted=arguments.predicted, field=arguments.field
    )
    if arguments.json:
        print_json({"run": run.name, "reports": [asdict(report) for report in reports]})
        return 0
    for index, report in enumerate(reports):
        if index:
            print()
        _print(report)
    return 0


def _print(report: Classification) -> None:
    model = f", {report.model}" if report.model else ""
    print(paint(f"{report.predicted} against {report.expected}{model}", "bold"))
    left_out = [
        f"{plural(number, 'row')} {reason}"
        for number, reason in (
            (report.failed, "failed"),
            (report.unlabeled, "without an expected class"),
        )
        if number
    ]
    unanswered = f", {report.unanswered} of them without a class" if report.unanswered else ""
    print(
        f"{plural(report.rows, 'row')}{unanswered}: {_percent(report.accuracy)} are right"
        + (f" (left out: {', '.join(left_out)})" if left_out else "")
    )
    if not report.classes:
        return
    print()
    print(_scores(report))
    if report.confusion:
        print()
        print(_confusion(report))


def _scores(report: Classification) -> str:
    columns = [
        Column("class"),
        *(Column(name, "right") for name in ("precision", "recall", "F1", "rows", "predicted")),
    ]
    rows = [
        TableRow(
            [
                _short(score.name),
                _percent(score.precision) if score.predicted else "-",
                _percent(score.recall) if score.support else "-",
                _percent(score.f1),
                str(score.support),
                str(score.predicted),
            ],
            None if score.support else "dim",
        )
        for score in report.classes
    ]
    averages = [
        TableRow(
            [
                f"{each.name} average",
                _percent(each.precision),
                _percent(each.recall),
                _percent(each.f1),
                "",
                "",
            ]
        )
        for each in report.averages
        # With one class per row, it equals the value in the first line.
        if report.several or each.name != "micro"
    ]
    return table(columns, [*rows, *averages])


def _confusion(report: Classification) -> str:
    names = map(_short, report.names)
    columns = [Column("expected \\ predicted"), *(Column(name, "right") for name in names)]
    rows = [
        TableRow([_short(name), *(str(count) if count else "·" for count in counts)])
        for name, counts in zip(report.names, report.confusion, strict=True)
        if any(counts)
    ]
    return table(columns, rows)


def _short(name: str) -> str:
    """Return a class shortened to a column name, since a model that writes sentences makes each a class."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
