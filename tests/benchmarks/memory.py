"""The server's memory after many edits, each followed by the requests of an editor.

    python tests/benchmarks/memory.py                    10,000 edits of a template of 500 lines
    python tests/benchmarks/memory.py --edits 2000 --lines 5000

Every edit inserts a new tag, so that nothing about it is cached; the length of the text stays the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from client import Client
from templates import template, typing_place

METHODS = ("documentSymbol", "codeLens", "foldingRange", "semanticTokens/full")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=500)
    arguments = parser.parse_args()
    steps = [count for count in (0, 100, 1000, 2000, 5000, 10_000, 20_000) if count < arguments.edits]
    steps.append(arguments.edits)
    with (
        tempfile.TemporaryDirectory() as name,
        Client([sys.executable, "-m", "promptls", "server"], Path(name)) as client,
    ):
        client.initialize()
        text = template(arguments.lines)
        place = typing_place(text)
        line, column = text.count("\n", 0, place), place - text.rfind("\n", 0, place) - 1
        uri = (Path(name) / "memory.yml.j2").as_uri()
        document = {"uri": uri, "languageId": "yaml-jinja", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        print(f"resident memory of the server, {arguments.lines} lines")
        width = 0
        for count in range(arguments.edits + 1):
            if count in steps:
                ask(client, uri)
                print(f"{count:>8,} edits {resident(client.process.pid):>10.1f} MB", flush=True)
            written = f" or name{count}"
            start = {"line": line, "character": column}
            end = {"line": line, "character": column + width}
            width = len(written)
            change = {"range": {"start": start, "end": end}, "text": written}
            params = {"textDocument": {"uri": uri, "version": count + 2}, "contentChanges": [change]}
            client.notify("textDocument/didChange", params)
            if count % 20 == 0:
                ask(client, uri)


def ask(client: Client, uri: str) -> None:
    """Send an editor's requests, and wait until the server has processed everything."""
    for method in METHODS:
        client.request(f"textDocument/{method}", {"textDocument": {"uri": uri}})


def resident(process: int) -> float:
    """Return the resident memory of a process in megabytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise ValueError(process)


if __name__ == "__main__":
    main()
