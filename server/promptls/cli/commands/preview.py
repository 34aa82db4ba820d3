"""`promptls preview`: the preview panel in a browser."""

from __future__ import annotations

import argparse
import asyncio

from promptls.cli.input.options import whole_number
from promptls.cli.output.terminal import paint, shown_path
from promptls.cli.pages.page_command import add_page_arguments, serve_until_interrupted

SUMMARY = "show a prompt in the browser, live"

DESCRIPTION = """\
Opens the preview of a prompt in the browser: its parts as a chat, with tokens, any sample
or row, what a token limit cuts, the request to a provider, and the difference from the last
commit. It follows every change of the prompt and of the files that it includes, until Ctrl+C.
A link leads to the truncation lab, which tries limits and steps on a chat that grows.

Only this machine reaches the page, by an address with a random token in it.

examples:
  promptls preview support.yml.j2
  promptls preview support.yml.j2 --row 7 --limit 500
  promptls preview support.yml.j2 --no-open --port 4711

exit codes: 0 ended by Ctrl+C, 1 it cannot be served, 2 wrong use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the file, what it is shown with at first, and how the page is reached."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    data = parser.add_argument_group("data").add_mutually_exclusive_group()
    data.add_argument("--sample", metavar="NAME", help="the sample of this name")
    data.add_argument(
        "--row", metavar="N", type=whole_number, help="row N, from 1, of the first experiment's dataset"
    )
    limit = parser.add_argument_group("token limit")
    limit.add_argument("--limit", metavar="TOKENS", type=whole_number, help="cut to this many tokens")
    limit.add_argument(
        "--step", metavar="TOKENS", type=whole_number, help="cut in multiples of this many tokens"
    )
    page = parser.add_argument_group("page")
    add_page_arguments(page)


def execute(arguments: argparse.Namespace) -> int:
    """Serves the page until Ctrl+C; raises Failure where it cannot be served."""
    return serve_until_interrupted(_serve(arguments), "The preview has ended.")


async def _serve(arguments: argparse.Namespace) -> None:
    from promptls.cli.input.chosen_files import choose, choose_one, refuse_other_files
    from promptls.cli.pages.live_preview import LivePreview
    from promptls.cli.pages.page_server import Page, open_in_browser, serving
    from promptls.preview.choice import Choice, chosen_sample
    from promptls.rendering.make import limits_for
    from promptls.rendering.worker import RenderWorker

    snapshot, path = choose_one(arguments.file)
    refuse_other_files(snapshot, path)
    row = arguments.row - 1 if arguments.row is not None else None
    choice = Choice(arguments.sample, row, arguments.limit, arguments.step)
    chosen_sample(snapshot, path, choice.data)
    worker = RenderWorker(limits_for(snapshot, path))
    live = LivePreview(choose([arguments.file]).workspace, path, worker, choice)
    watching = asyncio.ensure_future(live.watch())
    try:
        pages = (
            Page("preview", "promptls preview", live.converse),
            Page("truncation", "promptls truncation lab", live.converse_lab, "lab"),
        )
        async with serving(pages, arguments.port) as address:
            print(f"{paint(shown_path(path), 'bold')} at {address}\nCtrl+C ends the preview.", flush=True)
            if not arguments.no_open:
                await open_in_browser(address)
            await watching
    finally:
        watching.cancel()
        await worker.close()
