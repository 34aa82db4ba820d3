"""`promptls run --leave-one-out`: which few-shot examples earn their tokens."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.output.table import Column, Row, table
from promptls.cli.output.terminal import Colour, paint, print_json, printed_path
from promptls.cli.running.keys import sent_lines
from promptls.text.errors import UsageError
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.leave_one_out import LeftOut
    from promptls.experiments.run_protocol import Finished, RunRequest

_COLOURS: dict[str, Colour] = {"earns its tokens": "green", "does harm": "red", "not shown": "dim"}
_COLUMNS = (
    Column("example"),
    Column("shown in", "right"),
    Column("tokens", "right"),
    Column("verdict"),
)


def run_left_out(requests: list[RunRequest], arguments: argparse.Namespace) -> int:
    """Run each prompt with all examples and without each, and prints what every example is worth; 0."""
    reports = [report for each in requests if (report := asyncio.run(_run(each, arguments))) is not None]
    if arguments.json and reports:
        print_json(reports[0] if len(reports) == 1 else reports)
    return 0


async def _run(request: RunRequest, arguments: argparse.Namespace) -> dict[str, Any] | None:
    from promptls.experiments.leave_one_out import prepared_left_out

    async with prepared_left_out(request) as left:
        if not arguments.json:
            print(_heading(left), flush=True)
        if arguments.dry_run:
            return None
        if left.planned.question is not None and not arguments.yes:
            _ask(left.planned.question)
        finished = await _with_progress(left, arguments)
    report = dict(finished.manifest)
    if not arguments.json:
        print(_words(report))
        print(paint(printed_path(Path(finished.results)), "dim"))
    return report


async def _with_progress(left: LeftOut, arguments: argparse.Namespace) -> Finished:
    from promptls.cli.running.progress import shown_progress
    from promptls.experiments.leave_one_out import run_left_out as run_it

    with shown_progress(quiet=arguments.json) as tell:
        return await run_it(left, tell)


def _heading(left: LeftOut) -> str:
    plan, planned = left.whole.plan, left.planned
    prompt = paint(printed_path(plan.experiment.prompt), "bold")
    examples = plural(len(left.variants), "example")
    return (
        f"{prompt}: experiment `{plan.experiment.name}` without each of {examples}\n"
        f"{plural(plan.rows, 'row')}: {plural(planned.calls, 'call')}, "
        f"about {planned.tokens:,} input tokens"
        + (f", about {in_dollars(planned.prompt_cost)}" if planned.prompt_cost is not None else "")
        + "".join(f"\n{line}" for line in sent_lines(planned.sends, planned.environment))
    )


def _ask(question: str) -> None:
    """Raise `UsageError` where nobody says that so much may be spent."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in {"y", "yes"}:
            return
    raise UsageError(
        question.removesuffix(" Run it?"), remedy="say `--yes` to run it, or run less: `--rows 20`"
    )


def _words(report: dict[str, Any]) -> str:
    scores = ", ".join(f"{each['name']} {each['text']}" for each in report["metrics"])
    examples = report["examples"]
    rows = [
        Row(
            (
                f"{each['number']}: {each['label']}",
                f"{each['shown']} of {report['rows']}",
                f"{each['tokens']:.0f}",
                each["verdict"],
            ),
            _COLOURS.get(each["verdict"]),
        )
        for each in examples
    ]
    why = [f"example {each['number']} {each['words']}" for each in examples]
    return "\n".join([f"with all of them: {scores}", "", table(_COLUMNS, rows), "", *why])
