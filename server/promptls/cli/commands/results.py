"""`promptls results`: the results panel in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from promptls.cli.pages.page_server import add_page_arguments, serve_until_interrupted
from promptls.cli.permission import add_trust_argument
from promptls.text.errors import UsageError

DESCRIPTION = """\
Open the results of runs in the browser: scores, charts, rows with messages and responses, and
two runs side by side. The page follows running runs and shows the latest one when it ends.
Thumbs and notes are stored beside the run. You can run selected rows again, after seeing the
cost; this executes the metrics' files, so the folder must be trusted (`--trust` or
`promptls trust FOLDER`).

A RUN is the path of its table or manifest, its name, or a prompt file (its last run). With
several runs, each is compared with the first one, and the last one is shown. By default, the
page shows the latest run of this project.

Only this machine can open the page, at an address with a random token. The browser is started
with a private temporary file that redirects there. If your browser cannot read such files (some
Snap or Flatpak browsers, Windows from within WSL), open the printed address.

examples:
  promptls results                                      the latest run here
  promptls results triage.yml.j2
  promptls results triage_v1.yml.j2 triage_v2.yml.j2    compare two prompts
  promptls results triage.yml.j2 --no-open --port 4711

exit codes: 0 ended by Ctrl+C, 1 the page cannot be served, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the runs, and how to serve the page."""
    parser.add_argument("runs", metavar="RUN", nargs="*", help="the runs to show")
    add_page_arguments(parser)
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C; raises UserError if it cannot be served."""
    return serve_until_interrupted(_serve(arguments), "The page of the results has ended.")


async def _serve(arguments: argparse.Namespace) -> None:
    from promptls.cli.pages.live_results import LiveResults
    from promptls.cli.pages.page_server import Page, serve_watched
    from promptls.results_view.results_client import ResultsProcess

    view, folder, name = _initial_view(list(dict.fromkeys(arguments.runs)))
    process = ResultsProcess()
    live = LiveResults(view, folder, process, trusted=arguments.trust)
    page = Page("results", "promptls results", live.converse)
    try:
        await serve_watched([page], name, live.watch(), arguments)
    finally:
        await live.close()
        await process.close()


def _initial_view(runs: list[str]) -> tuple[dict[str, Any], Path, str]:
    """Return the arguments of the first view, the folder of its runs, and a title."""
    from promptls.experiments.manifest import results_folder
    from promptls.experiments.named_runs import find_run, folders_of_runs, known_runs, newest_first

    if not runs:
        found = (run for folder in folders_of_runs(Path.cwd()) for run in known_runs(folder))
        finished = newest_first((run for run in found if run.status == "finished"), 1)
        if not finished:
            remedy = "start one: `promptls run FILE`; or name a prompt that has runs: `promptls results FILE`"
            raise UsageError("there is no run here yet", remedy=remedy)
        runs = [str(finished[0].results)]
    *against, last = runs
    others = {"against": [str(find_run(name).results.absolute()) for name in against]} if against else {}
    prompt = Path(last)
    if not against and prompt.is_file() and prompt.suffix not in {".csv", ".json"}:
        # Also for a prompt whose first run has not ended yet.
        return {"path": str(prompt.absolute())}, results_folder(prompt.absolute()), prompt.name
    run = find_run(last)
    return {"run": str(run.results.absolute()), **others}, run.results.absolute().parent, run.name
