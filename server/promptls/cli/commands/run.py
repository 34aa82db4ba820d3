"""`promptls run`: an experiment over a data set, with its scores."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.input.options import any_number, dollars, seconds, whole_number
from promptls.cli.output.terminal import paint, print_json
from promptls.cli.running.planned import heading
from promptls.cli.running.questions import ask_before_spending
from promptls.cli.running.report import print_matrix, print_run, threshold
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.experiments.events import Finished
    from promptls.experiments.prepare import Prepared
    from promptls.experiments.request import RunRequest
    from promptls.experiments.thresholds import Threshold

SUMMARY = "run an experiment over a dataset"

DESCRIPTION = """\
Runs an experiment of a prompt: every row of the dataset is rendered, a model answers it,
and metrics score the answer. The prompt's header declares the experiment:

  experiments:
    triage:
      dataset: datasets/support_triage.csv
      models: [local:smollm2]
      metrics: [metrics.py:labels_exact_match, exact_match]

Every row is rendered first, which costs nothing: then you see how many rows fail, how many
calls there are to make and what they cost. A run that costs more than `ask_above` in the
settings asks first; without a terminal it needs --yes. Each finished row is on disk at once:
after Ctrl+C, a crash or a full disk, --resume goes on. What was answered before is not asked
again, as long as model, parameters and rendered messages are the same (--fresh asks anew).
Results are a CSV table and a JSON manifest in the folder `experiments`. A row that fails is
a row with an error, not the end of the run. The files of the metrics are run, so run only
what you trust.

examples:
  promptls run triage.yml.j2
  promptls run triage.yml.j2 --dry-run                  what it would do and cost
  promptls run triage.yml.j2 --rows 5                   the first five rows
  promptls run triage.yml.j2 --rows failing             those that failed last time
  promptls run triage.yml.j2 --rows 'priority == "P0"'  those that a filter lets through
  promptls run triage.yml.j2 --leave-one-out            which few-shot example earns its tokens
  promptls run v1.yml.j2 v2.yml.j2 --model local:smollm2 --model openai:gpt-4.1-mini
  promptls run triage.yml.j2 --engine ray --ray-address head:6379
  promptls run --resume 20261121-101500-triage
  promptls run --retry-errors 20261121-101500-triage
  promptls run triage.yml.j2 --fail-under exact_match=0.8 --junit report.xml
  promptls run triage.yml.j2 --json | jq .metrics

exit codes: 0 every row was answered and every threshold kept, 1 some were not, 2 wrong use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the prompt, and what takes the place of the experiment's own settings."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="the prompt file; several are run in turn")
    parser.add_argument("--experiment", metavar="NAME", help="which experiment; by default the first")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        action="append",
        default=[],
        help="ask this model instead, such as `local:smollm2` or `openai:gpt-4.1-mini`; may be repeated",
    )
    parser.add_argument(
        "--rows",
        metavar="ROWS",
        help="the first N rows, rows by number (`3,7,10-20`), `failing`, `examples`, or a condition over the "
        "columns",
    )
    parser.add_argument("--repeats", metavar="N", type=whole_number, help="ask each row N times")
    parser.add_argument("--seed", metavar="N", type=any_number, help="seed of the sampling; repeats count on")
    parser.add_argument("--concurrency", metavar="N", type=whole_number, help="ask N rows at once")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="ask the models from this machine, or from the nodes of a Ray cluster",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="the cluster, such as `head:6379`; by default that of RAY_ADDRESS, else the one of this machine",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="how long one answer may take")
    parser.add_argument(
        "--leave-one-out",
        action="store_true",
        help="run it with all few-shot examples and without each: which of them earns its tokens?",
    )
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", metavar="RUN", help="go on with a run that was cancelled or killed")
    begin.add_argument("--retry-errors", metavar="RUN", help="ask again only the rows of RUN that failed")
    spending = parser.add_argument_group("spending")
    spending.add_argument("--dry-run", action="store_true", help="say what would be done, and stop there")
    spending.add_argument("--yes", "-y", action="store_true", help="do not ask, whatever it costs")
    spending.add_argument("--fresh", action="store_true", help="ask again what was answered before")
    spending.add_argument(
        "--leave-unsure",
        action="store_true",
        help="with --resume, make no call that may have been paid for when the run broke off",
    )
    spending.add_argument("--max-calls", metavar="N", type=whole_number, help="stop after N calls")
    spending.add_argument("--max-tokens", metavar="N", type=whole_number, help="stop after N tokens")
    spending.add_argument("--max-cost", metavar="DOLLARS", type=dollars, help="stop after so many US dollars")
    judging = parser.add_argument_group("for CI")
    judging.add_argument(
        "--fail-under",
        metavar="METRIC=SCORE",
        type=threshold,
        action="append",
        default=[],
        help="exit with 1 when the metric scores less, such as `exact_match=0.8`; may be repeated",
    )
    judging.add_argument("--junit", metavar="FILE", type=Path, help="write a JUnit report as well")
    judging.add_argument("--json", action="store_true", help="print the run's manifest as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Runs the experiment of every file and prints its scores; 1 where a row failed or a score is too low."""
    from promptls.cli.running.in_python import in_python, run_in_python
    from promptls.experiments.history import read_run

    if arguments.junit is not None and not arguments.junit.absolute().parent.is_dir():
        # Said before anything is spent.
        raise WrongUse(
            "the folder of the report does not exist", FilePlace(arguments.junit), "make it, or name another"
        )
    if arguments.leave_one_out:
        from promptls.cli.running.left_out import run_left_out

        return run_left_out(_requests(arguments), arguments)
    requests, written = in_python(_requests(arguments))
    ended = asyncio.run(_run_all(requests, arguments)) if requests else []
    ended += [(each, arguments.fail_under) for each in run_in_python(written, arguments)]
    if not ended:
        return 0
    finished = [each for each, _ in ended]
    judged = [(read_run(Path(each.manifest_path)), thresholds) for each, thresholds in ended]
    runs = [run for run, _ in judged]
    missed = [(run, limit) for run, thresholds in judged for limit in thresholds if limit.is_missed_by(run)]
    if arguments.json:
        values = [{**each.manifest, "results": each.results} for each in finished]
        print_json(values[0] if len(values) == 1 else values)
    elif len(runs) > 1:
        print_matrix(runs)
    for run, limit in missed:
        print(paint(limit.words(run), "red", sys.stderr), file=sys.stderr)
    if arguments.junit is not None:
        from promptls.experiments.run_as_junit import render

        arguments.junit.write_text(render(judged), encoding="utf-8")
    return int(bool(missed) or any(run.failed for run in runs))


def _requests(arguments: argparse.Namespace) -> list[RunRequest]:
    from promptls.experiments.request import RunRequest

    named = arguments.resume or arguments.retry_errors
    if not arguments.files and not named:
        raise WrongUse("`promptls run` needs FILE", remedy="`promptls run --help` shows the options")
    if arguments.leave_unsure and not arguments.resume:
        raise WrongUse(
            "`--leave-unsure` is for a run that broke off", remedy="name it: `promptls run --resume RUN`"
        )
    if named and (arguments.files or arguments.model or arguments.rows or arguments.experiment):
        raise WrongUse(
            f"the run `{named}` already says its prompt, its models and its rows",
            remedy="leave them out; budgets, `--concurrency` and `--timeout` may change",
        )
    return [
        RunRequest(
            prompt=str(Path(file).absolute()) if file else "",
            experiment=arguments.experiment,
            models=arguments.model,
            rows=arguments.rows,
            concurrency=arguments.concurrency,
            timeout=arguments.timeout,
            repeats=arguments.repeats,
            seed=arguments.seed,
            max_calls=arguments.max_calls,
            max_tokens=arguments.max_tokens,
            max_cost=arguments.max_cost,
            resume=arguments.resume,
            retry_errors=arguments.retry_errors,
            fresh=arguments.fresh,
            leave_unsure=arguments.leave_unsure,
            yes=arguments.yes,
            only_plan=arguments.dry_run,
            leave_one_out=arguments.leave_one_out,
            models_base=str(Path.cwd()),
            engine=arguments.engine,
            ray_address=arguments.ray_address,
        )
        for file in arguments.files or [""]
    ]


async def _run_all(
    requests: list[RunRequest], arguments: argparse.Namespace
) -> list[tuple[Finished, list[Threshold]]]:
    """Every plan is made, and every question asked, before the first model is."""
    from promptls.experiments.history import read_run
    from promptls.experiments.last_runs import last_over
    from promptls.experiments.prepare import prepared
    from promptls.experiments.thresholds import check_thresholds, thresholds_of

    finished = []
    async with AsyncExitStack() as stack:
        with _only_json(arguments):
            plans = [await stack.enter_async_context(prepared(request)) for request in requests]
        thresholds = [thresholds_of(each.plan.experiment.thresholds, arguments.fail_under) for each in plans]
        for each, limits in zip(plans, thresholds, strict=True):
            check_thresholds(limits, [metric.name for metric in each.plan.metrics])
        if not arguments.json:
            print("\n".join(heading(each) for each in plans), flush=True)
        if arguments.dry_run:
            if arguments.json:
                values = [asdict(each.planned) for each in plans]
                print_json(values[0] if len(values) == 1 else values)
            return []
        if not arguments.yes:
            ask_before_spending(each.planned for each in plans)
        for each, limits in zip(plans, thresholds, strict=True):
            experiment = each.plan.experiment
            before = last_over(experiment.prompt, experiment.name, each.plan.choice.text or None)
            end = await _run(each, arguments)
            finished.append((end, limits))
            if not arguments.json:
                print_run(read_run(Path(end.manifest_path)), before)
    return finished


async def _run(prepared: Prepared, arguments: argparse.Namespace) -> Finished:
    from promptls.cli.running.progress import shown_progress
    from promptls.experiments.runner import run_plan

    with shown_progress(quiet=arguments.json) as tell, _only_json(arguments):
        return await run_plan(prepared.plan, tell, continued=prepared.continued)


def _only_json(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """What metrics print goes to the error stream where a program reads the standard output."""
    return redirect_stdout(sys.stderr) if arguments.json else nullcontext()
