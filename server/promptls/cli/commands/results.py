"""`promptls results`: the results panel in a browser."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from promptls.cli.output.terminal import paint
from promptls.cli.pages.page_command import add_page_arguments, serve_until_interrupted
from promptls.text.failure import WrongUse

SUMMARY = "show the results of runs in the browser, live"

DESCRIPTION = """\
Opens the results of runs in the browser: scores, charts, rows with their messages and
responses, two runs side by side. It follows runs while they go on, and shows the newest one
when it ends. Thumbs and notes are kept beside the run. Selected rows can be run again: what
that takes is asked first. Running executes the metrics' files, as `promptls run` does.

A RUN is the path of its table or manifest, its name, or a prompt file: its last run. Several
runs stand side by side: each is compared with the first one, and the last is shown. Without
one, it is the newest run of this project.

Only this machine reaches the page, by an address with a random token in it.

examples:
  promptls results                                      the newest run here
  promptls results triage.yml.j2
  promptls results triage_v1.yml.j2 triage_v2.yml.j2    one compared with the other
  promptls results triage.yml.j2 --no-open --port 4711

exit codes: 0 ended by Ctrl+C, 1 it cannot be served, 2 wrong use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the runs, and how the page is reached."""
    parser.add_argument("runs", metavar="RUN", nargs="*", help="the runs that are shown")
    add_page_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Serves the page until Ctrl+C; raises Failure where it cannot be served."""
    return serve_until_interrupted(_serve(arguments), "The page of the results has ended.")


async def _serve(arguments: argparse.Namespace) -> None:
    from promptls.cli.pages.live_results import LiveResults
    from promptls.cli.pages.page_server import Page, open_in_browser, serving
    from promptls.results_view.client import ResultsProcess

    asked, folder, name = _asked(list(dict.fromkeys(arguments.runs)))
    process = ResultsProcess()
    live = LiveResults(asked, folder, process)
    watching = asyncio.ensure_future(live.watch())
    try:
        page = Page("results", "promptls results", live.converse)
        async with serving([page], arguments.port) as address:
            print(f"{paint(name, 'bold')} at {address}\nCtrl+C ends the page.", flush=True)
            if not arguments.no_open:
                await open_in_browser(address)
            await watching
    finally:
        watching.cancel()
        await live.close()
        await process.close()


def _asked(words: list[str]) -> tuple[dict[str, Any], Path, str]:
    """What the page shows first, the folder of its runs, and what it is called here."""
    from promptls.experiments.find_run import find_run
    from promptls.experiments.results_folder import results_folder
    from promptls.experiments.run_index import known_runs

    if not words:
        folder = results_folder(Path.cwd() / "any")
        newest = next((run for run in known_runs(folder) if run.status == "finished"), None)
        if newest is None:
            raise WrongUse("there is no run here yet", remedy="make one: `promptls run FILE`")
        words = [newest.path]
    *against, last = words
    others = {"against": [str(find_run(word).results.absolute()) for word in against]} if against else {}
    prompt = Path(last)
    if not against and prompt.is_file() and prompt.suffix not in {".csv", ".json"}:
        # Also one whose first run has not ended yet.
        return {"path": str(prompt.absolute())}, results_folder(prompt.absolute()), prompt.name
    run = find_run(last)
    return {"run": str(run.results.absolute()), **others}, run.results.absolute().parent, run.name
