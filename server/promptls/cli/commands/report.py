"""`promptls report`: the results of runs as one HTML file."""

from __future__ import annotations

import argparse
import contextlib
import sys
import webbrowser
from pathlib import Path

from promptls.cli.output.terminal import print_json, shown_path
from promptls.text.counted import counted
from promptls.text.failure import Failure, FilePlace

SUMMARY = "write the results of runs as one HTML page"

DESCRIPTION = """\
Writes a page with the scores, charts, rows, messages and notes of runs. It is one file: it
opens from the disk, loads nothing, and can be sent to somebody without promptls.

A RUN is the path of its table or manifest, its name, or a prompt file: its last run. Several
runs stand side by side: each is compared with the first one, and the last is shown.

examples:
  promptls report triage.yml.j2                              its last run, as <run>.html
  promptls report triage_v1.yml.j2 triage_v2.yml.j2 -o comparison.html
  promptls report 20261121-103000-triage_v2 --open

exit codes: 0 written, 1 a run cannot be read or the file not written, 2 wrong use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the runs and the file."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the runs that the report is about")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the file, by default <run>.html here"
    )
    parser.add_argument("--open", action="store_true", help="open the report in the browser")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Writes the report, and says where it is."""
    from promptls.datasets.atomic import replaced
    from promptls.experiments.find_run import find_run
    from promptls.results_view.report import report_html

    runs = [find_run(word) for word in dict.fromkeys(arguments.runs)]
    path = arguments.output or Path(f"{runs[-1].name}.html")
    html = report_html(runs)
    try:
        with replaced(path) as stream:
            stream.write(html)
    except OSError as error:
        raise Failure(
            f"the report cannot be written: {error.strerror}", FilePlace(path), "name another file with `-o`"
        ) from None
    size = path.stat().st_size
    if arguments.json:
        print_json({"report": str(path.absolute()), "bytes": size, "runs": [run.name for run in runs]})
    else:
        rows = counted(sum(run.rows for run in runs), "row")
        print(f"{shown_path(path)}: {counted(len(runs), 'run')}, {rows}, {max(1, size // 1024):,} KB")
    if arguments.open:
        with contextlib.suppress(webbrowser.Error):
            if not webbrowser.open(path.absolute().as_uri()):
                print("no browser could be opened", file=sys.stderr)
    return 0
