"""`promptls mcp`: the server of the Model Context Protocol, for coding agents."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

from promptls.cli.arguments import dollars
from promptls.text.errors import FilePlace, UsageError

DESCRIPTION = """\
Start a server of the Model Context Protocol on standard input and output. Its tools check,
render and edit prompts, run experiments under a budget, compare runs and read results.

The server works in one folder, and nothing outside of it is read or changed. Only you decide
what a session may do; an agent cannot: experiments and functions run only in a folder that you
trust (`promptls trust FOLDER`), a key goes only to its provider or where you have granted it
(`promptls trust --key`), and a model that is not on this machine needs a budget in each run.
--max-cost limits all runs of a session together.

Needs the extra `mcp`: pip install 'promptls[mcp]'

examples:
  claude mcp add promptls -- promptls mcp          add it to Claude Code
  promptls mcp ~/project --max-cost 0.5            at most half a dollar per session"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the folder and what the session may do."""
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, help="folder to work in (default: the current one)"
    )
    parser.add_argument(
        "--trust", action="store_true", help="trust the folder in this session and run its Python"
    )
    parser.add_argument(
        "--max-cost", metavar="DOLLARS", type=dollars, help="limit of all runs of the session together"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the client closes the connection."""
    if find_spec("mcp") is None:
        raise UsageError(
            "`promptls mcp` needs the package `mcp`, which is not installed",
            remedy="pip install 'promptls[mcp]'",
        )
    if arguments.folder is not None:
        if not arguments.folder.is_dir():
            raise UsageError("there is no such folder", FilePlace(arguments.folder), "check the path")
        os.chdir(arguments.folder)
    from promptls.mcp.folder import Folder
    from promptls.mcp.server import serve

    serve(Folder(Path.cwd(), trusts=arguments.trust, max_cost=arguments.max_cost))
    return 0
