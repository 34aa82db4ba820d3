"""Experiments that are written in Python, among those that `promptls run` is asked for."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.output.terminal import paint, print_json, shown_path
from promptls.cli.running.questions import ask_before_spending
from promptls.text.counted import counted

if TYPE_CHECKING:
    from promptls.experiments.events import Finished
    from promptls.experiments.request import RunRequest
    from promptls.experiments.written.prepare import PreparedWritten
    from promptls.experiments.written.request import WrittenRequest


def in_python(requests: list[RunRequest]) -> tuple[list[RunRequest], list[WrittenRequest]]:
    """The requests for declared experiments, and those for experiments in Python, found by reading."""
    from promptls.experiments.written.request import written_request

    declared, written = [], []
    for request in requests:
        found = written_request(request)
        if found is None:
            declared.append(request)
        else:
            written.append(found)
    return declared, written


def run_in_python(written: list[WrittenRequest], arguments: argparse.Namespace) -> list[Finished]:
    """Runs each in turn and prints its scores; with --dry-run, says what would be run."""
    return [finished for each in written if (finished := _run(each, arguments)) is not None]


def _heading(ready: PreparedWritten, folder: Path) -> str:
    """The rows and the calls, on one line."""
    rows, path = ready.plan.rows, ready.plan.rows.path
    source = f" of {os.path.relpath(path, folder)}" if path is not None else ""
    chosen = f" ({rows.choice.text})" if rows.choice.expression else ""
    calls = counted(ready.planned.calls, "call")
    asked = f", {ready.plan.told_model}" if ready.plan.told_model else ""
    asked += " on Ray" if ready.plan.engine == "ray" else ""
    repeats = f", {ready.plan.repeats} times each" if ready.plan.repeats > 1 else ""
    return f"{counted(ready.planned.rows, 'row')}{source}{chosen}{asked}{repeats}: {calls} of the function"


def _run(written: WrittenRequest, arguments: argparse.Namespace) -> Finished | None:
    from promptls.cli.running.progress import shown_progress
    from promptls.cli.running.report import print_run
    from promptls.experiments.history import last_run, read_run
    from promptls.experiments.written.prepare import prepared_written
    from promptls.experiments.written.runner import run_written

    request, experiment = written
    prompt = Path(request.prompt)
    if not arguments.json:
        place = f"{shown_path(experiment.file)}:{experiment.line + 1}"
        print(f"{paint(shown_path(prompt), 'bold')}: experiment `{experiment.name}` of {place}", flush=True)
    before = last_run(prompt, experiment=experiment.name)
    folder = Path.cwd()
    output = sys.stdout
    try:
        # What the file and its function print is none of the output that programs read.
        with contextlib.redirect_stdout(sys.stderr), prepared_written(written) as ready:
            if not arguments.json:
                print(_heading(ready, folder), file=output, flush=True)
                if ready.planned.unsure is not None:
                    print(paint(ready.planned.unsure, "yellow", output), file=output, flush=True)
            if request.only_plan:
                if arguments.json:
                    with contextlib.redirect_stdout(output):
                        print_json(asdict(ready.planned))
                return None
            if not request.yes:
                ask_before_spending([ready.planned])
            with shown_progress(quiet=arguments.json) as tell:
                finished = asyncio.run(run_written(ready, tell))
    finally:
        os.chdir(folder)
    if not arguments.json:
        print_run(read_run(Path(finished.manifest_path)), before)
    return finished
