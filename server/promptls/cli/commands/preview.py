"""`promptls preview`: the preview panel in a browser."""

from __future__ import annotations

import argparse

from promptls.cli.arguments import add_data_arguments, add_limit_arguments
from promptls.cli.pages.page_server import add_page_arguments, serve_until_interrupted
from promptls.cli.permission import add_trust_argument, trust_to_render
from promptls.cli.terminal import printed_path

DESCRIPTION = """\
Open a preview of a prompt in the browser: its parts as a chat with token counts, for any sample
or row; what a token limit cuts; the request to a provider; and the difference from the last
commit. It follows changes to the prompt and its includes until Ctrl+C, and links to the
truncation lab, which compares limits and steps for a growing chat. Functions files are run, so
their folder must be trusted; on a terminal, you are asked once.

Only this machine can open the page, at an address with a random token. The browser is started
with a private temporary file that redirects there. If your browser cannot read such files (some
Snap or Flatpak browsers, Windows from within WSL), open the printed address.

examples:
  promptls preview support.yml.j2
  promptls preview support.yml.j2 --row 7 --limit 500
  promptls preview support.yml.j2 --no-open --port 4711

exit codes: 0 ended by Ctrl+C, 1 the page cannot be served, 2 usage error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, its initial data, and how to serve the page."""
    parser.add_argument("file", metavar="FILE", help="the prompt file")
    add_data_arguments(parser, with_data=False)
    add_limit_arguments(parser)
    add_page_arguments(parser.add_argument_group("page"))
    add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C; raises UserError if it cannot be served."""
    return serve_until_interrupted(_serve(arguments), "The preview has ended.")


async def _serve(arguments: argparse.Namespace) -> None:
    from promptls.cli.chosen_files import choose_one, refuse_other_files
    from promptls.cli.pages.live_preview import LivePreview
    from promptls.cli.pages.page_server import Page, serve_watched
    from promptls.preview.preview_result import RenderingChoice, chosen_sample
    from promptls.rendering.make import limits_for
    from promptls.rendering.worker import RenderWorker

    chosen, path = choose_one(arguments.file)
    refuse_other_files(chosen.snapshot, path)
    trust_to_render(chosen, [path], this_time=arguments.trust)
    snapshot = chosen.snapshot
    row = arguments.row - 1 if arguments.row is not None else None
    choice = RenderingChoice(arguments.sample, row, arguments.limit, arguments.step)
    chosen_sample(snapshot, path, choice.data)
    async with RenderWorker(limits_for(snapshot, path)) as worker:
        live = LivePreview(chosen.workspace, path, worker, choice)
        pages = (
            Page("preview", "promptls preview", live.converse),
            Page("truncation", "promptls truncation lab", live.converse_lab, "lab"),
        )
        await serve_watched(pages, printed_path(path), live.watch(), arguments)
