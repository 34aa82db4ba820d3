"""`promptls run`: an experiment over a data set, with its scores."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.options import whole_number
from promptls.cli.table import Column, Row, table
from promptls.cli.terminal import paint, print_json, shown_path

if TYPE_CHECKING:
    from promptls.experiments.definition import Experiment
    from promptls.experiments.events import Finished
    from promptls.experiments.history import MetricSummary, RunSummary
    from promptls.experiments.plan import Plan

SUMMARY = "run an experiment over a dataset"

DESCRIPTION = """\
Runs an experiment of a prompt: every row of the dataset is rendered, a model answers it,
and metrics score the answer. The prompt's header declares the experiment:

  experiments:
    triage:
      dataset: datasets/support_triage.csv
      models: [local:smollm2]
      metrics: [metrics.py:labels_exact_match, exact_match]

Every row is rendered first, which costs nothing. Each finished row is on disk at once, so
Ctrl+C or a crash loses nothing. Results are a CSV table and a JSON manifest in the folder
`experiments`. A row that fails is a row with an error, not the end of the run.
The files of the metrics are run, so run only what you trust.

examples:
  promptls run triage.yml.j2
  promptls run triage.yml.j2 --rows 5
  promptls run triage.yml.j2 --model openai:gpt-4.1-mini --concurrency 8
  promptls run triage.yml.j2 --json | jq .metrics

exit codes: 0 every row was answered, 1 some failed, 2 wrong use"""

# Rows with an error that are shown; the table has all of them.
SHOWN_ERRORS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the prompt, and what takes the place of the experiment's own settings."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    parser.add_argument("--experiment", metavar="NAME", help="which experiment; by default the first")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        action="append",
        default=[],
        help="ask this model instead, such as `local:smollm2` or `openai:gpt-4.1-mini`; may be repeated",
    )
    parser.add_argument("--rows", metavar="N", type=whole_number, help="only the first N rows")
    parser.add_argument("--concurrency", metavar="N", type=whole_number, help="ask N rows at once")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="how long one answer may take")
    parser.add_argument("--json", action="store_true", help="print the run's manifest as JSON")


def seconds(word: str) -> float:
    """The seconds that `word` writes, more than 0; argparse shows the error of any other word."""
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"`{word}` is no number of seconds above 0")
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Runs the experiment and prints its scores; 1 where a row failed."""
    from promptls.experiments.definition import adjusted, define_experiment
    from promptls.experiments.history import last_run, read_run

    experiment = adjusted(
        define_experiment(Path(arguments.file), arguments.experiment, models=arguments.model),
        concurrency=arguments.concurrency,
        timeout=arguments.timeout,
    )
    before = last_run(experiment.prompt, experiment=experiment.name)
    finished = asyncio.run(_run(experiment, arguments))
    run = read_run(Path(finished.manifest_path))
    if arguments.json:
        print_json({**finished.manifest, "results": finished.results})
    else:
        _print_run(run, before)
    return int(bool(run.failed))


async def _run(experiment: Experiment, arguments: argparse.Namespace) -> Finished:
    from promptls.cli.progress import shown_progress
    from promptls.experiments.plan import plan_run
    from promptls.experiments.row_rendering import row_renderer
    from promptls.experiments.runner import run_plan

    async with row_renderer(experiment) as renderer:
        plan = await plan_run(experiment, arguments.rows, renderer)
        if not arguments.json:
            print(_heading(plan), flush=True)
        with shown_progress(quiet=arguments.json) as tell:
            return await run_plan(plan, tell, renderer=renderer)


def _heading(plan: Plan) -> str:
    experiment = plan.experiment
    rows = len(plan.digests)
    models = " and ".join(model.name for model in experiment.models)
    asked = len(experiment.models) * experiment.repeats
    title = f"{paint(shown_path(experiment.prompt), 'bold')}: experiment `{experiment.name}`"
    size = f"{counted(rows, 'row')} of {shown_path(plan.dataset.path)}, {models}"
    cost = f"{counted(plan.calls, 'call')}, about {plan.input_tokens * asked:,} input tokens"
    lines = [title, f"{size}: {cost}"]
    if plan.failing:
        first = plan.failing[0]
        lines.append(
            paint(f"{counted(len(plan.failing), 'row')} cannot be rendered; ", "yellow")
            + f"row {first.number}, line {first.line + 1} of the data set: {first.message}"
        )
    return "\n".join(lines)


def _print_run(run: RunSummary, before: RunSummary | None) -> None:
    if run.metrics:
        columns = [Column("metric"), Column("score", "right"), Column(""), Column("")]
        print()
        print(table(columns, [_metric_row(metric, before) for metric in run.metrics]))
    print()
    if run.failed:
        print(paint(f"{counted(run.failed, 'row')} of {run.rows} failed", "red"))
        _print_errors(run)
    cost = "" if run.cost is None else f", {run.cost:.4f} US dollars"
    print(
        f"{counted(run.rows, 'row')} in {run.seconds:g} s; "
        f"{run.input_tokens:,} input and {run.output_tokens:,} output tokens{cost}"
    )
    print(f"table:    {shown_path(run.results)}")
    print(f"manifest: {shown_path(run.manifest)}")
    if before is not None and before.metrics:
        print(paint(f"is it better? promptls compare {before.name} {run.name}", "dim"))


def _metric_row(metric: MetricSummary, before: RunSummary | None) -> Row:
    good = str(metric.allowed_values[0]) if metric.kind == "discrete" and metric.allowed_values else None
    told = f"{metric.counts.get(good, 0)} of {metric.scored} {good}" if good else ""
    if metric.unscored:
        told += f"{', ' if told else ''}{metric.unscored} without a score"
    old = before.metric(metric.name) if before else None
    change = f"before: {old.text}" if old and old.value is not None else ""
    return Row([metric.name, metric.text, told, change])


def _print_errors(run: RunSummary) -> None:
    from itertools import islice

    from promptls.experiments.history import row_results

    failed = (line for line in row_results(run) if line["error"])
    for line in islice(failed, SHOWN_ERRORS):
        print(f"  row {line['row_number']} (id {line['id']}, {line['model']}): {line['error']}")
    if run.failed > SHOWN_ERRORS:
        print(f"  … and {run.failed - SHOWN_ERRORS} more, in the column `error` of the table")


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 row`, `1,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
