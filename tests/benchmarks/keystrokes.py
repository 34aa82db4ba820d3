"""How long typing waits, beside a server that does nothing and beside other servers.

    python tests/benchmarks/keystrokes.py                 the empty server, 50 to 50,000 lines
    python tests/benchmarks/keystrokes.py --peers         jinja-lsp and yaml-language-server too
    python tests/benchmarks/keystrokes.py --in-process    the analysis alone, without a server
    python tests/benchmarks/keystrokes.py --lines 500 --keystrokes 400

The same edits are typed into templates of every length: prose, an error, its removal, and back
again. All servers are asked in turn, keystroke by keystroke, so that whatever else the machine
does falls on all alike; what counts are the ratios in one run, which stand at the end beside what
they are to be (`goals.py`). With peers it takes some eight minutes: what takes a peer seconds is
measured a few times only, and a burst that would take it a minute not at all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from client import Client
from goals import REQUESTS, Times, percentile, print_goals
from servers import EMPTY, PROMPTLS, Server, peers
from templates import prompt_object, template, typing_place

WARM_UP = 12
MOST_SECONDS = 8
"""What one server may take in one phase, ahead of which it is asked a few times in any case."""
FEWEST = 3
BURST = 50
MOST_BURST_SECONDS = 20
MOST_OBJECT_LINES = 5000
"""Prompt objects are as long as somebody writes by hand; longer ones are not measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="*", default=[50, 500, 5000, 50000])
    parser.add_argument("--keystrokes", type=int, default=200, help="how many are measured (default: 200)")
    parser.add_argument("--starts", type=int, default=10, help="how many starts are measured (default: 10)")
    parser.add_argument("--peers", action="store_true", help="install and measure other servers too")
    parser.add_argument("--in-process", action="store_true")
    arguments = parser.parse_args()
    if arguments.in_process:
        print_in_process(arguments.lines, arguments.keystrokes)
        return
    servers = [PROMPTLS, EMPTY, *(peers() if arguments.peers else ())]
    print(f"{'milliseconds':<34}" + "".join(f"{server.name:>22}" for server in servers))
    print(f"{'':<34}" + f"{'median':>15}{'p95':>7}" * len(servers) + "   promptls over empty")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print_row("start to initialized", measure_starts(folder, servers, arguments.starts))
        measured: dict[tuple[str, int], Times] = {}
        for lines in arguments.lines:
            for row, times in measure_template(folder, servers, lines, arguments.keystrokes):
                print_row(f"{row}, {lines} lines", times)
                measured[row, lines] = times
            if lines <= MOST_OBJECT_LINES:
                times = measure_object(folder, servers, lines, arguments.keystrokes)
                print_row(f"keystroke in an object, {lines} lines", times)
        print_goals(measured)


def measure_starts(folder: Path, servers: list[Server], count: int) -> Times:
    """The seconds from starting each server to its answer to `initialize`."""
    times: Times = {server.name: [] for server in servers}
    for _ in range(count):
        for server in servers:
            started = time.perf_counter()
            with Client(server.command, folder) as client:
                client.initialize()
                times[server.name].append(time.perf_counter() - started)
    return times


class Typist:
    """One document in one server, into which the same edits are typed again and again."""

    def __init__(self, server: Server, folder: Path, text: str, name: str) -> None:
        place = typing_place(text)
        self.uri = (folder / name).as_uri()
        self.line = text.count("\n", 0, place)
        self.column = place - text.rfind("\n", 0, place) - 1
        self.version = 1
        self.took = 0.0
        self.lines = text.splitlines(keepends=True)
        self.client = Client(server.command, folder)
        self.client.initialize()
        document = {"uri": self.uri, "languageId": server.language, "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        self.client.wait_for_diagnostics(self.uri, 1)

    def change(self) -> dict[str, Any]:
        """The parameters of the next edit: prose, a broken tag, the tag mended, the prose taken out."""
        step = self.version % 4
        self.version += 1
        prose = {"line": self.line + 2, "character": 8}
        tag = {"line": self.line, "character": self.column}
        begin, length, typed = (
            (prose, 0, "x"),
            (tag, 0, "|"),
            (tag, 1, ""),
            (prose, 1, ""),
        )[step - 1]
        end = {"line": begin["line"], "character": begin["character"] + length}
        line = self.lines[begin["line"]]
        self.lines[begin["line"]] = line[: begin["character"]] + typed + line[end["character"] :]
        edit = {"range": {"start": begin, "end": end}, "text": typed}
        return {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [{"text": "".join(self.lines)} if self.client.takes_whole_texts else edit],
        }

    def keystroke(self) -> None:
        """Type, and wait for the diagnostics of what was typed."""
        change = self.change()
        started = time.perf_counter()
        self.client.notify("textDocument/didChange", change)
        self.client.wait_for_diagnostics(self.uri, self.version)
        self.took = time.perf_counter() - started

    def ask(self, request: str) -> None:
        """Type, and wait for the answer to a request right behind it."""
        change = self.change()
        started = time.perf_counter()
        self.client.notify("textDocument/didChange", change)
        position = {"line": self.line, "character": self.column - 2}
        params = {"textDocument": {"uri": self.uri}, "position": position}
        self.client.request(f"textDocument/{request}", params)
        self.took = time.perf_counter() - started

    def burst(self) -> None:
        """Type many times at once, and wait for the diagnostics of the last text."""
        messages: list[Any] = []
        for _ in range(BURST):
            messages += ["textDocument/didChange", self.change()]
        started = time.perf_counter()
        self.client.notify(*messages)
        self.client.wait_for_diagnostics(self.uri, self.version)
        self.took = time.perf_counter() - started


def measure_template(
    folder: Path, servers: list[Server], lines: int, count: int
) -> Iterator[tuple[str, Times]]:
    """The rows of a template of this length, each with its name."""
    text = template(lines)
    typists = {}
    for server in servers:
        typists[server.name] = Typist(server, folder, text, f"benchmark_{lines}.yml.j2")
    try:
        keystrokes = repeated(typists, Typist.keystroke, count)
        yield "keystroke", keystrokes
        for request in REQUESTS:
            times = repeated(typists, lambda typist, what=request: typist.ask(what), count // 2)
            yield f"{request} behind an edit", times
        for name, times in keystrokes.items():
            if BURST * statistics.median(times) > MOST_BURST_SECONDS:
                typists.pop(name).client.close()  # some servers answer each keystroke of a burst
        yield f"burst of {BURST}", repeated(typists, Typist.burst, max(count // 20, 3))
    finally:
        for typist in typists.values():
            typist.client.close()


def measure_object(folder: Path, servers: list[Server], lines: int, count: int) -> Times:
    """The seconds of a keystroke in an example in the middle of a prompt object of this length."""
    typists = {
        server.name: Typist(server, folder, prompt_object(lines), f"object_{lines}.yml.j2")
        for server in servers
    }
    try:
        return repeated(typists, Typist.keystroke, count)
    finally:
        for typist in typists.values():
            typist.client.close()


def repeated(typists: dict[str, Typist], act: Callable[[Typist], None], count: int) -> Times:
    """The seconds that each server takes for something, again and again; the first ones warm up."""
    times: Times = {name: [] for name in typists}
    spent = dict.fromkeys(typists, 0.0)
    for number in range(count + WARM_UP):
        for name, typist in typists.items():
            if spent[name] > MOST_SECONDS and len(times[name]) >= FEWEST:
                continue
            act(typist)
            spent[name] += typist.took
            if number >= WARM_UP or spent[name] > MOST_SECONDS:
                times[name].append(typist.took)
        time.sleep(0.003)  # the servers idle before the next keystroke, as they do between real ones
    return times


def print_in_process(sizes: list[int], count: int) -> None:
    """Print what reading, editing and checking take, without any server."""
    print("milliseconds                open      edit     check  (medians; edit and check of a keystroke)")
    for lines in sizes:
        print_analysis(f"{lines:>6} lines", template(lines), count)
        if lines <= MOST_OBJECT_LINES:
            print_analysis(f"{lines:>6} in an object", prompt_object(lines), count)


def print_analysis(row: str, text: str, count: int) -> None:
    """Print what opening, editing and checking one text take: a tag in it breaks and is mended in turn."""
    from promptls.rules.check import check
    from promptls.text.span import Span
    from promptls.workspace.workspace import Workspace

    place = typing_place(text)
    path = "/benchmark/main.yml.j2"
    workspace = Workspace()
    started = time.perf_counter()
    workspace.open(path, text, 1)
    before = check(workspace.snapshot, path)
    opening = time.perf_counter() - started
    edits, checks = [], []
    for version in range(2, count + 2):
        started = time.perf_counter()
        typed = version % 2 == 0
        edit = (Span(place, place), "|") if typed else (Span(place, place + 1), "")
        workspace.edit(path, version, [edit])
        edited = time.perf_counter()
        found = check(workspace.snapshot, path)
        assert (found != before) is typed, found
        edits.append(edited - started)
        checks.append(time.perf_counter() - edited)
    columns = (opening, statistics.median(edits), statistics.median(checks))
    print(f"{row:<22}" + "".join(f"{1000 * column:10.2f}" for column in columns))


def print_row(name: str, times: Times) -> None:
    """Print one line of the table."""
    cells = [
        f"{1000 * percentile(measured, 50):15.2f}{1000 * percentile(measured, 95):7.1f}"
        for measured in times.values()
    ]
    ours, empty = times[PROMPTLS.name], times[EMPTY.name]
    ratios = [percentile(ours, percent) / percentile(empty, percent) for percent in (50, 95)]
    print(f"{name:<34}" + "".join(cells) + f"   {ratios[0]:5.2f} x, p95 {ratios[1]:5.2f} x", flush=True)


if __name__ == "__main__":
    main()
