"""Code-defined experiments, among those that `promptls run` is asked for."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.output.terminal import paint, print_json, printed_path
from promptls.cli.running.keys import sent_lines
from promptls.cli.running.questions import ask_before_spending
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.experiments.python.prepare import PreparedPython
    from promptls.experiments.python.request import PythonRequest
    from promptls.experiments.run_protocol import Finished, RunRequest


def in_python(requests: list[RunRequest]) -> tuple[list[RunRequest], list[PythonRequest]]:
    """Return the requests for declared experiments, and those for experiments in Python, found by reading."""
    from promptls.experiments.python.request import python_request

    declared, code_defined = [], []
    for request in requests:
        found = python_request(request)
        if found is None:
            declared.append(request)
        else:
            code_defined.append(found)
    return declared, code_defined


def run_in_python(code_defined: list[PythonRequest], arguments: argparse.Namespace) -> list[Finished]:
    """Run each in turn and prints its scores; with --dry-run, says what would be run."""
    return [finished for each in code_defined if (finished := _run(each, arguments)) is not None]


def _heading(ready: PreparedPython, folder: Path) -> str:
    """Return the rows and the calls, on one line."""
    rows, path = ready.plan.rows, ready.plan.rows.path
    source = f" of {os.path.relpath(path, folder)}" if path is not None else ""
    chosen = f" ({rows.choice.text})" if rows.choice.expression else ""
    calls = plural(ready.planned.calls, "call")
    asked = f", {ready.plan.requested_model}" if ready.plan.requested_model else ""
    asked += " on Ray" if ready.plan.engine == "ray" else ""
    repeats = f", {ready.plan.repeats} times each" if ready.plan.repeats > 1 else ""
    return f"{plural(ready.planned.rows, 'row')}{source}{chosen}{asked}{repeats}: {calls} of the function"


def _run(code_defined: PythonRequest, arguments: argparse.Namespace) -> Finished | None:
    from promptls.cli.running.progress import shown_progress
    from promptls.cli.running.report import print_run
    from promptls.experiments.history import last_run, read_run
    from promptls.experiments.python.prepare import prepared_python
    from promptls.experiments.python.runner import run_python

    request, experiment = code_defined
    prompt = Path(request.prompt)
    if not arguments.json:
        place = f"{printed_path(experiment.file)}:{experiment.line + 1}"
        print(f"{paint(printed_path(prompt), 'bold')}: experiment `{experiment.name}` of {place}", flush=True)
    before = last_run(prompt, experiment=experiment.name)
    folder = Path.cwd()
    output = sys.stdout
    try:
        # What the file and its function print is none of the output that programs read.
        with contextlib.redirect_stdout(sys.stderr), prepared_python(code_defined) as ready:
            if not arguments.json:
                sent = sent_lines(ready.planned.sends, ready.planned.environment)
                print("\n".join([_heading(ready, folder), *sent]), file=output, flush=True)
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
                finished = asyncio.run(run_python(ready, tell))
    finally:
        os.chdir(folder)
    if not arguments.json:
        print_run(read_run(Path(finished.manifest_path)), before)
    return finished
