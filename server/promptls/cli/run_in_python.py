"""Experiments that are written in Python, among those that `promptls run` is asked for."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.terminal import paint, shown_path

if TYPE_CHECKING:
    from promptls.experiments.events import Finished
    from promptls.experiments.request import RunRequest
    from promptls.experiments.written_plan import WrittenRequest


def in_python(requests: list[RunRequest]) -> tuple[list[RunRequest], list[WrittenRequest]]:
    """The requests for declared experiments, and those for experiments in Python, found by reading."""
    from promptls.experiments.written_plan import written_request

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


def _run(written: WrittenRequest, arguments: argparse.Namespace) -> Finished | None:
    from promptls.cli.progress import shown_progress
    from promptls.cli.run_report import print_run
    from promptls.experiments.history import last_run, read_run
    from promptls.experiments.written_runner import run_written

    request, experiment = written
    prompt = Path(request.prompt)
    if not arguments.json:
        place = f"{shown_path(experiment.file)}:{experiment.line + 1}"
        print(f"{paint(shown_path(prompt), 'bold')}: experiment `{experiment.name}` of {place}", flush=True)
    if request.only_plan:
        return None
    before = last_run(prompt, experiment=experiment.name)
    folder = Path.cwd()
    try:
        # What the function prints is none of the output that programs read.
        with shown_progress(quiet=arguments.json) as tell, contextlib.redirect_stdout(sys.stderr):
            finished = asyncio.run(run_written(written, tell))
    finally:
        os.chdir(folder)
    if not arguments.json:
        print_run(read_run(Path(finished.manifest_path)), before)
    return finished
