"""`promptls compare`: compare runs row by row, with statistical tests."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.arguments import whole_number
from promptls.cli.terminal import Color, Column, TableRow, paint, print_json, printed_path, table
from promptls.text.errors import FilePlace, UsageError, UserError

if TYPE_CHECKING:
    from promptls.experiments.comparison import Comparison, MetricComparison
    from promptls.experiments.history import RunSummary

DESCRIPTION = """\
Compare runs row by row with the first one. For each, report whether it is better, whether the
difference is statistically significant, and how many rows would be needed to be sure.

A RUN is the path of its table or manifest, its name, or a prompt file (its last complete
run). One RUN alone is compared with the one before it.

examples:
  promptls compare triage.yml.j2
  promptls compare triage_v1.yml.j2 triage_v2.yml.j2
  promptls compare 20261121-101500-triage_v2 20261121-103000-triage_v2
  promptls compare triage_v1.yml.j2 triage_v2.yml.j2 triage_v3.yml.j2
  promptls compare experiments/20261121-101500-a.csv experiments/20261121-103000-b.csv --json
  promptls compare triage_v1.yml.j2 triage_v2.yml.j2 --csv comparison.csv
  promptls compare main.csv branch.csv --fail-on-regression     in CI

Confidence intervals come from a bootstrap over the rows. p comes from McNemar's exact test for
scores with two values, otherwise from a permutation test: the probability of such a difference
if both were equally good. Differences with p below 0.05 are significant. With several
comparisons, p is corrected (Holm). Repeats of a row count as one row.

exit codes: 0 compared, 1 a run cannot be read, or is worse with --fail-on-regression, 2 usage error"""

SHOWN_ROWS = 10

_COLORS: dict[str, Color] = {"better": "green", "worse": "red", "inconclusive": "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the runs and the output's form."""
    parser.add_argument("before", metavar="RUN", help="the baseline run")
    parser.add_argument("after", metavar="RUN", nargs="*", default=[], help="the runs to compare with it")
    parser.add_argument(
        "--rows",
        metavar="N",
        type=whole_number,
        default=SHOWN_ROWS,
        help="number of changed rows to show (default: 10)",
    )
    parser.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="exit with 1 if a metric is significantly worse",
    )
    parser.add_argument("--csv", metavar="FILE", help="write the rows of all runs side by side to FILE")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Compare and print; return 1 if a run is worse and the options request that."""
    from promptls.experiments.comparison import compare_with, write_combined
    from promptls.experiments.named_runs import find_run

    runs = [find_run(run, complete=True) for run in (arguments.before, *arguments.after)]
    if len(runs) == 1:
        runs.insert(0, _previous(runs[0]))
    comparisons = compare_with(runs[0], runs[1:])
    if arguments.csv is not None:
        _write_csv(Path(arguments.csv), runs, write_combined)
    if arguments.json:
        print_json({"comparisons": [comparison_json(comparison) for comparison in comparisons]})
        return _exit_code(arguments, comparisons)
    for index, comparison in enumerate(comparisons):
        if index:
            print()
        _print_comparison(comparison, arguments.rows)
        if comparison.before.results == comparison.after.results:
            remedy = f"`promptls history {printed_path(comparison.after.prompt)}` lists the others"
            print(f"note: this is one run, compared with itself; {remedy}", file=sys.stderr)
    return _exit_code(arguments, comparisons)


def _previous(run: RunSummary) -> RunSummary:
    """Return the last comparable run of the prompt before this one; raises UsageError if there is none."""
    from promptls.experiments.history import runs_of, with_baseline

    runs = runs_of(run.prompt)
    any(each.manifest == run.manifest for each in runs)  # the older ones are left
    found = with_baseline(run, runs).previous
    if found is None:
        raise UsageError(
            f"there is no earlier run that {run.name} can be compared with",
            remedy=f"name two runs: `promptls history {printed_path(run.prompt)}` lists them",
        )
    return found


def _write_csv(
    path: Path, runs: Sequence[RunSummary], write: Callable[[Path, Sequence[RunSummary]], None]
) -> None:
    try:
        write(path, runs)
    except OSError as error:
        raise UserError(
            f"the file cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(path),
            "check the folder and the disk space",
        ) from error
    print(f"wrote {printed_path(path)}, the rows of {len(runs)} runs side by side", file=sys.stderr)


def _exit_code(arguments: argparse.Namespace, comparisons: Sequence[Comparison]) -> int:
    if not arguments.fail_on_regression:
        return 0
    worse = [
        metric for comparison in comparisons for metric in comparison.metrics if metric.verdict == "worse"
    ]
    for metric in worse:
        print(paint(f"{metric.metric}: {metric.message}", "red", sys.stderr), file=sys.stderr)
    return int(bool(worse))


def _print_comparison(comparison: Comparison, shown_rows: int) -> None:
    for label, run in (("before", comparison.before), ("after", comparison.after)):
        print(f"{label + ':':<7} {_describe(run)}")
    print()
    columns = [
        Column("metric"),
        Column(comparison.before_name, "right"),
        Column(comparison.after_name, "right"),
        Column("rows", "right"),
        Column("verdict"),
    ]
    print(table(columns, [_metric_row(metric) for metric in comparison.metrics]))
    print()
    for metric in comparison.metrics:
        print(f"{paint(metric.metric, 'bold')}: {metric.message}")
    for note in comparison.notes:
        print(paint(f"note: {note}", "yellow"))
    _print_changes(comparison, shown_rows)


def _print_changes(comparison: Comparison, shown_rows: int) -> None:
    if not comparison.changes:
        print("\nno row has changed its score")
        return
    better = sum(change.better for change in comparison.changes)
    print(f"\nscores that changed: {better} got better, {len(comparison.changes) - better} got worse")
    columns = [Column("row"), Column("metric"), Column(comparison.before_name), Column(comparison.after_name)]
    # Rows that got worse come first, as the most important ones.
    ordered = sorted(comparison.changes, key=lambda change: change.better)
    rows = [
        TableRow([change.id, change.metric, change.before, change.after], "green" if change.better else "red")
        for change in ordered[:shown_rows]
    ]
    print(table(columns, rows))
    if len(ordered) > shown_rows:
        print(paint(f"… and {len(ordered) - shown_rows} more (`--rows` shows more)", "dim"))


def _describe(run: RunSummary) -> str:
    stale = ", the prompt has changed since" if run.stale else ""
    return f"{paint(run.name, 'bold')} ({printed_path(run.prompt)}, {' + '.join(run.models)}{stale})"


def _metric_row(metric: MetricComparison) -> TableRow:
    found = metric.difference
    cells = [
        metric.metric,
        _score(metric.kind, found.before),
        _score(metric.kind, found.after),
        str(found.pairs),
        metric.verdict,
    ]
    return TableRow(cells, _COLORS[metric.verdict])


def _score(kind: str, value: float) -> str:
    return f"{value * 100:.0f} %" if kind == "discrete" else f"{value:.3g}"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison with its verdicts, and the rows whose score changed."""
    return {
        "before": {"run": comparison.before.name, "name": comparison.before_name},
        "after": {"run": comparison.after.name, "name": comparison.after_name},
        "rows": comparison.pairs,
        "metrics": [asdict(metric) for metric in comparison.metrics],
        "changes": [change._asdict() for change in comparison.changes],
        "notes": list(comparison.notes),
    }
