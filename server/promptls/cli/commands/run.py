"""`promptls run`: run an experiment over a dataset and score it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli import permission
from promptls.cli.arguments import any_number, seconds, whole_number
from promptls.cli.run_report import heading, print_matrix, print_run, threshold
from promptls.cli.terminal import Color, Column, TableRow, paint, print_json, printed_path, table
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.leave_one_out import LeftOut
    from promptls.experiments.python.program import PreparedPython
    from promptls.experiments.python.request import PythonRequest
    from promptls.experiments.run_protocol import Finished, RunRequest
    from promptls.experiments.verdicts import Threshold


DESCRIPTION = """\
Run an experiment of a prompt: render every row of the dataset, ask a model, and score the
answers with metrics. Declare the experiment in the prompt's header:

  experiments:
    triage:
      dataset: datasets/support_triage.csv
      models: [local:smollm2]
      metrics: [metrics.py:labels_exact_match, exact_match]

All rows are rendered first, which is free. You then see how many rows fail, how many calls are
needed and what they cost. A run that costs more than `ask_above` in the settings asks first;
without a terminal, pass --yes. If the project's settings send a key to a server other than its
provider's, you are asked once; without a terminal, pass --allow-key.
Each finished row is saved immediately: after Ctrl+C, a crash or a full disk, use --resume.
Answers are cached by model, parameters and rendered messages (--fresh ignores the cache).
Results are a CSV table and a JSON manifest in the folder `experiments` beside the project's
settings or, without settings, beside the prompt. A failed row is a row with an error; the run
continues. A run executes Python of the folder (metrics, functions), spends money and sends data
to models, so the folder must be trusted: on a terminal, you are asked once; elsewhere, pass
`--trust` or run `promptls trust FOLDER` first. No trust is needed for a parts template or prompt
object that uses only the embedded model or `echo`, and no Python of the folder.

examples:
  promptls run triage.yml.j2
  promptls run triage.yml.j2 --dry-run                  show the plan and its cost
  promptls run triage.yml.j2 --rows 5                   the first five rows
  promptls run triage.yml.j2 --rows failing             rows that failed in the last run
  promptls run triage.yml.j2 --rows 'priority == "P0"'  rows that match a condition
  promptls run triage.yml.j2 --leave-one-out            which few-shot examples earn their tokens
  promptls run v1.yml.j2 v2.yml.j2 --model local:smollm2 --model openai:gpt-4.1-mini
  promptls run triage.yml.j2 --engine ray --ray-address head:6379
  promptls run --resume 20261121-101500-triage
  promptls run --retry-errors 20261121-101500-triage
  promptls run --complete 20261121-101500-triage        the rows that a partial run left out
  promptls run triage.yml.j2 --fail-under exact_match=0.8 --junit report.xml
  promptls run triage.yml.j2 --trust --yes              in CI, without questions
  promptls run triage.yml.j2 --json | jq .metrics

exit codes: 0 all rows were answered and all thresholds met, 1 some were not, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the prompt, and the options that override the experiment's settings."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="prompt files, run one after the other")
    parser.add_argument("--experiment", metavar="NAME", help="experiment (default: the first)")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        action="append",
        default=[],
        help="use this model instead, such as `local:smollm2` or `openai:gpt-4.1-mini`; may be repeated",
    )
    parser.add_argument(
        "--rows",
        metavar="ROWS",
        help="the first N rows, row numbers (`3,7,10-20`), `failing`, `examples`, or a condition over the "
        "columns",
    )
    parser.add_argument("--repeats", metavar="N", type=whole_number, help="ask each row N times")
    parser.add_argument("--seed", metavar="N", type=any_number, help="random seed; each repeat adds 1")
    parser.add_argument("--concurrency", metavar="N", type=whole_number, help="ask N rows in parallel")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="ask models from this machine or from the nodes of a Ray cluster",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="address of the cluster, such as `head:6379` (default: RAY_ADDRESS, then this machine)",
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="maximum time per answer")
    parser.add_argument(
        "--leave-one-out",
        action="store_true",
        help="run with all few-shot examples and without each, to find those that earn their tokens",
    )
    _add_continued(parser)
    spending = permission.add_spending_arguments(parser, "--dry-run")
    spending.add_argument(
        "--skip-in-flight",
        action="store_true",
        help="with --resume: skip calls that were in flight and may have been charged",
    )
    judging = parser.add_argument_group("CI")
    judging.add_argument(
        "--fail-under",
        metavar="METRIC=SCORE",
        type=threshold,
        action="append",
        default=[],
        help="exit with 1 if the metric scores less, such as `exact_match=0.8`; may be repeated",
    )
    judging.add_argument("--junit", metavar="FILE", type=Path, help="also write a JUnit report")
    judging.add_argument("--json", action="store_true", help="print the run's manifest as JSON")
    permission.add_trust_argument(parser)


def _add_continued(parser: argparse.ArgumentParser) -> None:
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", metavar="RUN", help="resume a run that was cancelled or killed")
    begin.add_argument("--retry-errors", metavar="RUN", help="run only the failed rows of RUN again")
    begin.add_argument(
        "--complete",
        metavar="RUN",
        help="take the results of the partial run RUN and run the rows that it left out",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the experiment of every file and print its scores; return 1 for failed rows or low scores."""
    from promptls.cli.run_progress import interrupted_by_signals, run_cancellable
    from promptls.experiments.folder_code import code_of_run, folders_of_run
    from promptls.experiments.prepare import requested_access
    from promptls.experiments.python.request import python_request

    if arguments.junit is not None and not arguments.junit.absolute().parent.is_dir():
        # Reported before anything is spent.
        raise UsageError(
            "the folder of the report does not exist",
            FilePlace(arguments.junit),
            "create it, or name another",
        )
    requests = _requests(arguments)
    if not arguments.trust:
        for request in requests:
            permission.require_trust(folders_of_run(request), partial(code_of_run, request))
    accesses = [requested_access(request) for request in requests]
    with permission.keys_allowed(accesses, arguments.allow_key, asks=not arguments.dry_run):
        if arguments.leave_one_out:
            with interrupted_by_signals():
                return _leave_one_out(requests, arguments)
        in_python = [python_request(request) for request in requests]
        declared = [each for each, found in zip(requests, in_python, strict=True) if found is None]
        with interrupted_by_signals():
            ended = run_cancellable(_run_all(declared, arguments)) if declared else []
            for each in filter(None, in_python):
                finished = _run_python_experiment(each, arguments)
                if finished is not None:
                    ended.append((finished, arguments.fail_under))
    return _report(ended, arguments) if ended else 0


def _report(ended: list[tuple[Finished, list[Threshold]]], arguments: argparse.Namespace) -> int:
    """Print the scores and what misses its threshold, write the report, and return the exit code."""
    from promptls.experiments.history import read_run

    judged = [(read_run(Path(each.manifest_path)), thresholds) for each, thresholds in ended]
    runs = [run for run, _ in judged]
    missed = [(run, limit) for run, thresholds in judged for limit in thresholds if limit.is_missed_by(run)]
    if arguments.json:
        _print_json_of_each([{**each.manifest, "results": each.results} for each, _ in ended])
    elif len(runs) > 1:
        print_matrix(runs)
    for run, limit in missed:
        print(paint(limit.message(run), "red", sys.stderr), file=sys.stderr)
    if arguments.junit is not None:
        from promptls.experiments.verdicts import junit_report

        arguments.junit.write_text(junit_report(judged), encoding="utf-8")
    return int(bool(missed) or any(run.failed for run in runs))


def _print_json_of_each(values: list[dict[str, Any]]) -> None:
    """Print the values as JSON: a list, or the only one itself."""
    print_json(values[0] if len(values) == 1 else values)


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Raise UsageError for arguments that contradict one another, or lack a file."""
    named = arguments.resume or arguments.retry_errors or arguments.complete
    if not arguments.files and not named:
        raise UsageError("`promptls run` needs FILE", remedy="`promptls run --help` shows the options")
    if arguments.leave_one_out and named:
        raise UsageError(
            "`--leave-one-out` needs a prompt, not a run",
            remedy="name the prompt: `promptls run FILE --leave-one-out`; known answers are in the cache",
        )
    if arguments.skip_in_flight and not arguments.resume:
        raise UsageError(
            "`--skip-in-flight` is for an unfinished run", remedy="name it: `promptls run --resume RUN`"
        )
    if named and (arguments.files or arguments.model or arguments.rows or arguments.experiment):
        raise UsageError(
            f"the run `{named}` already determines its prompt, models and rows",
            remedy="leave them out; budgets, `--concurrency` and `--timeout` may change",
        )


def _requests(arguments: argparse.Namespace) -> list[RunRequest]:
    from promptls.cli.chosen_files import existing
    from promptls.experiments.run_protocol import RunRequest

    _check_arguments(arguments)
    for file in arguments.files:
        existing(file)
    return [
        RunRequest(
            prompt=os.path.normpath(Path(file).absolute()) if file else "",
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
            retry_errors=arguments.retry_errors or arguments.complete,
            complete=arguments.complete is not None,
            fresh=arguments.fresh,
            skip_in_flight=arguments.skip_in_flight,
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
    """Run all experiments; every plan is made, and every question asked, before the first call of a model."""
    from promptls.cli.run_progress import shown_progress
    from promptls.experiments.history import read_run
    from promptls.experiments.prepare import prepare_run
    from promptls.experiments.prompt_runner import run_plan
    from promptls.experiments.verdicts import check_thresholds, thresholds_of

    finished = []
    async with AsyncExitStack() as stack:
        with _only_json(arguments):
            plans = [await stack.enter_async_context(prepare_run(request)) for request in requests]
        # The experiment declares thresholds for its whole dataset.
        declared = [{} if each.plan.choice.text else each.plan.experiment.thresholds for each in plans]
        thresholds = [thresholds_of(each, arguments.fail_under) for each in declared]
        for each, limits in zip(plans, thresholds, strict=True):
            check_thresholds(limits, [metric.name for metric in each.plan.metrics])
        if not arguments.json:
            print("\n".join(heading(each) for each in plans), flush=True)
        if arguments.dry_run:
            if arguments.json:
                _print_json_of_each([asdict(each.planned) for each in plans])
            return []
        if not arguments.yes:
            permission.ask_before_spending(each.planned for each in plans)
        for each, limits in zip(plans, thresholds, strict=True):
            with shown_progress(quiet=arguments.json) as notify, _only_json(arguments):
                end = await run_plan(each.plan, notify, continued=each.continued)
            finished.append((end, limits))
            if not arguments.json:
                print_run(read_run(Path(end.manifest_path)), each.plan.experiment.thresholds)
    return finished


def _only_json(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Redirect the output of metrics to the error stream if a program reads the standard output."""
    return redirect_stdout(sys.stderr) if arguments.json else nullcontext()


def _python_heading(ready: PreparedPython, folder: Path) -> str:
    """Return the rows and the calls, on one line."""
    rows, path = ready.plan.rows, ready.plan.rows.path
    source = f" of {os.path.relpath(path, folder)}" if path is not None else ""
    chosen = f" ({rows.choice.text})" if rows.choice.expression else ""
    calls = plural(ready.planned.calls, "call")
    model = f", {ready.plan.requested_model}" if ready.plan.requested_model else ""
    model += " on Ray" if ready.plan.engine == "ray" else ""
    repeats = f", {ready.plan.repeats} times each" if ready.plan.repeats > 1 else ""
    return f"{plural(ready.planned.rows, 'row')}{source}{chosen}{model}{repeats}: {calls} of the function"


def _run_python_experiment(code_defined: PythonRequest, arguments: argparse.Namespace) -> Finished | None:
    """Run the experiment and print its scores; with --dry-run, print what would be run, and return None."""
    from promptls.cli.run_progress import run_cancellable, shown_progress
    from promptls.experiments.history import read_run
    from promptls.experiments.python.program import prepared_python
    from promptls.experiments.python.program_runner import run_python

    request, experiment = code_defined
    prompt = Path(request.prompt)
    if not arguments.json:
        place = f"{printed_path(experiment.file)}:{experiment.line + 1}"
        print(f"{paint(printed_path(prompt), 'bold')}: experiment `{experiment.name}` of {place}", flush=True)
    folder = Path.cwd()
    output = sys.stdout
    try:
        # The output of the file and its function must not be mixed with output for programs.
        with contextlib.redirect_stdout(sys.stderr), prepared_python(code_defined) as ready:
            if not arguments.json:
                sent = permission.sent_lines(ready.planned.sends, ready.planned.environment)
                print("\n".join([_python_heading(ready, folder), *sent]), file=output, flush=True)
                if ready.planned.in_flight is not None:
                    print(paint(ready.planned.in_flight, "yellow", output), file=output, flush=True)
            if request.only_plan:
                if arguments.json:
                    with contextlib.redirect_stdout(output):
                        print_json(asdict(ready.planned))
                return None
            if not request.yes:
                permission.ask_before_spending([ready.planned])
            with shown_progress(quiet=arguments.json) as notify:
                finished = run_cancellable(run_python(ready, notify))
    finally:
        os.chdir(folder)
    if not arguments.json:
        print_run(read_run(Path(finished.manifest_path)))
    return finished


_VERDICT_COLORS: dict[str, Color] = {"earns its tokens": "green", "does harm": "red", "not shown": "dim"}
_EXAMPLE_COLUMNS = (
    Column("example"),
    Column("shown in", "right"),
    Column("tokens", "right"),
    Column("verdict"),
)


def _leave_one_out(requests: list[RunRequest], arguments: argparse.Namespace) -> int:
    """Run each prompt with all examples and without each one, and print the effect of every example."""
    from promptls.cli.run_progress import run_cancellable

    reports = [
        report
        for each in requests
        if (report := run_cancellable(_run_leave_one_out(each, arguments))) is not None
    ]
    if arguments.json and reports:
        _print_json_of_each(reports)
    return 0


async def _run_leave_one_out(request: RunRequest, arguments: argparse.Namespace) -> dict[str, Any] | None:
    from promptls.cli.run_progress import shown_progress
    from promptls.experiments.leave_one_out import prepared_left_out, run_left_out

    async with prepared_left_out(request) as left:
        if not arguments.json:
            print(_leave_one_out_heading(left), flush=True)
        if arguments.dry_run:
            return None
        if not arguments.yes:
            permission.ask_before_spending([left.planned])
        with shown_progress(quiet=arguments.json) as notify:
            finished = await run_left_out(left, notify)
    report = dict(finished.manifest)
    if not arguments.json:
        print(_leave_one_out_report(report))
        print(paint(printed_path(Path(finished.results)), "dim"))
    return report


def _leave_one_out_heading(left: LeftOut) -> str:
    plan, planned = left.whole.plan, left.planned
    prompt = paint(printed_path(plan.experiment.prompt), "bold")
    examples = plural(len(left.variants), "example")
    return (
        f"{prompt}: experiment `{plan.experiment.name}` without each of {examples}\n"
        f"{plural(plan.rows, 'row')}: {plural(planned.calls, 'call')}, "
        f"about {planned.tokens:,} input tokens"
        + (f", about {in_dollars(planned.prompt_cost)}" if planned.prompt_cost is not None else "")
        + "".join(f"\n{line}" for line in permission.sent_lines(planned.sends, planned.environment))
    )


def _leave_one_out_report(report: dict[str, Any]) -> str:
    scores = ", ".join(f"{each['name']} {each['text']}" for each in report["metrics"])
    examples = report["examples"]
    rows = [
        TableRow(
            (
                f"{each['number']}: {each['label']}",
                f"{each['shown']} of {report['rows']}",
                f"{each['tokens']:.0f}",
                each["verdict"],
            ),
            _VERDICT_COLORS.get(each["verdict"]),
        )
        for each in examples
    ]
    why = [f"example {each['number']} {each['message']}" for each in examples]
    return "\n".join([f"with all of them: {scores}", "", table(_EXAMPLE_COLUMNS, rows), "", *why])
