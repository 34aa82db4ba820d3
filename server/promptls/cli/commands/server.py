"""`promptls server`: the language server, on the standard streams."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptls.protocol.network import Address

SUMMARY = "the language server, for editors"

DESCRIPTION = """\
Runs the language server. Editors start it; it speaks the Language Server Protocol
on its standard input and output, and ends when the editor says so.

With --tcp or --ws it listens on a port instead, and serves every client that
connects until Ctrl+C ends it. Whoever reaches the port can run the functions and
metrics of the prompts on this machine, so that it listens on this machine alone
unless a host is named.

examples:
  promptls                      the same as `promptls server --stdio`
  promptls server --stdio       as editors write it
  promptls server --tcp 2087    on port 2087 of this machine
  promptls server --ws 0        over WebSocket, on any free port, which it names"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares how the client is reached."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="speak on the standard streams (the default)")
    ways.add_argument("--tcp", metavar="[HOST:]PORT", type=_address, help="listen for clients over TCP")
    ways.add_argument("--ws", metavar="[HOST:]PORT", type=_address, help="listen for clients over WebSocket")
    parser.add_argument(
        "--origin",
        metavar="URL",
        action="append",
        default=[],
        help="let web pages of this origin connect over WebSocket, beside those of this machine",
    )
    # vscode-languageclient names its own process this way; the end of the input says as much.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)


def execute(arguments: argparse.Namespace) -> int:
    """Serves until the client leaves, or on a port until it is interrupted."""
    if arguments.tcp or arguments.ws:
        from promptls.protocol.network import run_tcp, run_websocket

        if arguments.tcp:
            run_tcp(arguments.tcp)
        else:
            run_websocket(arguments.ws, tuple(arguments.origin))
        return 0

    from promptls.protocol.server import run_stdio

    if sys.stdin.isatty():
        print(
            "The language server waits for an editor to speak on standard input; Ctrl+C ends it.\n"
            "`promptls --help` lists the commands for people.",
            file=sys.stderr,
        )
    run_stdio()
    return 0


def _address(word: str) -> Address:
    """The address that `word` writes; argparse shows the error of any other word."""
    from promptls.protocol.network import LOOPBACK, Address

    host, _, port = word.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise argparse.ArgumentTypeError(f"`{word}` names no port from 0 to 65535")
    return Address(host.strip("[]") or LOOPBACK, int(port))
