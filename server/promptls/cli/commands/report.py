"""`promptls report`: the results of runs as one HTML file."""

from __future__ import annotations

import argparse
import contextlib
import sys
import webbrowser
from pathlib import Path

from promptls.cli.terminal import print_json, printed_path
from promptls.text.errors import FilePlace, UserError
from promptls.text.format import plural

DESCRIPTION = """\
Write a self-contained HTML page with the scores, charts, rows, messages and notes of runs. It
loads nothing from the network and opens without promptls.

A RUN is the path of its table or manifest, its name, or a prompt file (its last complete
run). With several runs, each is compared with the first one, and the last one is shown.

examples:
  promptls report triage.yml.j2                              its last run, as <run>.html
  promptls report triage_v1.yml.j2 triage_v2.yml.j2 -o comparison.html
  promptls report 20261121-103000-triage_v2 --open

exit codes: 0 written, 1 a run cannot be read or the file not written, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the runs and the file."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the runs to report")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="output file (default: <run>.html in the current folder)",
    )
    parser.add_argument("--open", action="store_true", help="open the report in the browser")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Write the report, and print its path."""
    from promptls.experiments.named_runs import find_run
    from promptls.results_view.html_report import report_html
    from promptls.security.written_files import replace_file

    runs = [find_run(word, complete=True) for word in dict.fromkeys(arguments.runs)]
    path = arguments.output or Path(f"{runs[-1].name}.html")
    html = report_html(runs)
    try:
        with replace_file(path) as stream:
            stream.write(html)
    except OSError as error:
        raise UserError(
            f"the report cannot be written: {error.strerror}", FilePlace(path), "name another file with `-o`"
        ) from None
    size = path.stat().st_size
    if arguments.json:
        print_json({"report": str(path.absolute()), "bytes": size, "runs": [run.name for run in runs]})
    else:
        rows = plural(sum(run.rows for run in runs), "row")
        print(f"{printed_path(path)}: {plural(len(runs), 'run')}, {rows}, {max(1, size // 1024):,} KB")
    if arguments.open:
        with contextlib.suppress(webbrowser.Error):
            if not webbrowser.open(path.absolute().as_uri()):
                print("no browser could be opened", file=sys.stderr)
    return 0
