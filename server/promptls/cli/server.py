"""`promptls server`: the language server, on the standard streams."""

from __future__ import annotations

import argparse
import sys

SUMMARY = "the language server, for editors"

DESCRIPTION = """\
Runs the language server. Editors start it; it speaks the Language Server Protocol
on its standard input and output, and ends when the editor says so.

examples:
  promptls                      the same as `promptls server --stdio`
  promptls server --stdio       as editors write it"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares how the client is reached."""
    parser.add_argument("--stdio", action="store_true", help="speak on the standard streams (the default)")


def execute(_arguments: argparse.Namespace) -> int:
    """Serves until the client leaves."""
    from promptls.protocol.server import run_stdio

    if sys.stdin.isatty():
        print(
            "The language server waits for an editor to speak on standard input; Ctrl+C ends it.\n"
            "`promptls --help` lists the commands for people.",
            file=sys.stderr,
        )
    run_stdio()
    return 0
