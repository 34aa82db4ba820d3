"""`promptls server`: the language server."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.text.errors import UsageError

if TYPE_CHECKING:
    from promptls.server.port_access import Address

DESCRIPTION = """\
Start the language server. It speaks the Language Server Protocol on standard input and output
until the editor ends it.

With --tcp or --ws, it listens on a port until Ctrl+C and serves every client that connects.
Clients can run functions and metrics of prompts, so each must know the token of the server. The
server prints a new random token at startup; --token-file or the variable PROMPTLS_TOKEN sets
one of at least 16 characters. With WebSocket, the token is part of the address. With TCP, the
client sends it in `initialize` as `initializationOptions.token`.

examples:
  promptls                      the same as `promptls server --stdio`
  promptls server --stdio       as started by editors
  promptls server --tcp 2087    port 2087 of this machine
  promptls server --ws 0        WebSocket on any free port, which is printed
  promptls server --tcp 2087 --token-file ~/.promptls-token"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to connect to the client."""
    transports = parser.add_mutually_exclusive_group()
    transports.add_argument("--stdio", action="store_true", help="use standard input and output (default)")
    transports.add_argument("--tcp", metavar="[HOST:]PORT", type=_address, help="listen for clients over TCP")
    transports.add_argument(
        "--ws", metavar="[HOST:]PORT", type=_address, help="listen for clients over WebSocket"
    )
    parser.add_argument(
        "--token-file", metavar="FILE", type=Path, help="read the token from a file (default: random token)"
    )
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="allow an address that other machines can reach; the connection is not encrypted",
    )
    parser.add_argument(
        "--allow-origin",
        metavar="URL",
        type=_origin,
        action="append",
        default=[],
        help="allow web pages of this origin to connect over WebSocket (default: none)",
    )
    # vscode-languageclient passes its process id in this option, which is ignored: the end of the input
    # suffices.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the client exits, or on a port until interrupted."""
    address = arguments.tcp or arguments.ws
    if arguments.allow_origin and not arguments.ws:
        raise UsageError(
            "`--allow-origin` is for web pages, which connect over WebSocket", remedy="add `--ws`"
        )
    if address is not None:
        from promptls.server.network import run_tcp, run_websocket
        from promptls.server.port_access import chosen_token

        if not address.is_loopback:
            _warn_of_remote(address.host, is_allowed=arguments.allow_remote)
        token = chosen_token(arguments.token_file)
        if arguments.tcp:
            run_tcp(address, token)
        else:
            run_websocket(address, token, tuple(arguments.allow_origin))
        return 0
    if arguments.token_file or arguments.allow_remote:
        option = "--token-file" if arguments.token_file else "--allow-remote"
        raise UsageError(f"`{option}` is for a server on a port", remedy="add `--tcp` or `--ws`")

    from promptls.server.server import run_stdio

    if sys.stdin.isatty():
        print(
            "The language server waits for an editor to speak on standard input; Ctrl+C ends it.\n"
            "`promptls --help` lists the commands for people.",
            file=sys.stderr,
        )
    run_stdio()
    return 0


def _warn_of_remote(host: str, *, is_allowed: bool) -> None:
    """Print the risk of a host that other machines can reach; raises UsageError unless that is allowed."""
    if not is_allowed:
        raise UsageError(
            f"other machines can reach `{host}`",
            remedy="leave out the host to serve only this machine, or add `--allow-remote`",
        )
    print(
        f"warning: other machines can reach `{host}`, and the connection is not encrypted. Whoever has the "
        "token, or reads it in the network, can read files as this user and run the Python code of trusted "
        "folders.",
        file=sys.stderr,
    )


def _origin(word: str) -> str:
    """Parse an origin; argparse reports the error for any other word."""
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#\s@*]+", word):
        raise argparse.ArgumentTypeError(f"`{word}` is not an origin such as `https://ide.example.com`")
    return word


def _address(word: str) -> Address:
    """Parse an address; argparse reports the error for any other word."""
    from promptls.server.port_access import LOOPBACK, Address

    host, _, port = word.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise argparse.ArgumentTypeError(f"`{word}` is not a port from 0 to 65535")
    return Address(host.strip("[]") or LOOPBACK, int(port))
