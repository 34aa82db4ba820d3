"""How long a keystroke takes until its diagnostics are there, beside a server that does nothing.

    python tests/benchmarks/keystrokes.py                 both servers, 50, 500 and 5,000 lines
    python tests/benchmarks/keystrokes.py --in-process    the analysis alone, without a server
    python tests/benchmarks/keystrokes.py --lines 500 --keystrokes 400

Every other keystroke makes an error, and the one after it takes the error away, so that each has
new diagnostics to wait for. The two servers are asked in turn, keystroke by keystroke, so that
whatever else the machine does falls on both alike.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from client import Client
from templates import template, typing_place

SERVERS = {
    "promptls": [sys.executable, "-m", "promptls", "server"],
    "empty": [sys.executable, str(Path(__file__).with_name("empty_server.py"))],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="*", default=[50, 500, 5000])
    parser.add_argument("--keystrokes", type=int, default=200, help="how many are measured (default: 200)")
    parser.add_argument("--starts", type=int, default=10, help="how many starts are measured (default: 10)")
    parser.add_argument("--in-process", action="store_true")
    arguments = parser.parse_args()
    if arguments.in_process:
        print_in_process(arguments.lines, arguments.keystrokes)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("milliseconds                promptls           empty           ratio")
        print("                         median    p95    median    p95    of medians")
        print_row("start → initialized", measure_starts(folder, arguments.starts))
        for lines in arguments.lines:
            print_row(f"keystroke, {lines} lines", measure_keystrokes(folder, lines, arguments.keystrokes))


def measure_starts(folder: Path, count: int) -> dict[str, list[float]]:
    """The seconds from starting each server to its answer to `initialize`."""
    times: dict[str, list[float]] = {name: [] for name in SERVERS}
    for _ in range(count):
        for name, command in SERVERS.items():
            started = time.perf_counter()
            with Client(command, folder) as client:
                client.initialize()
                times[name].append(time.perf_counter() - started)
    return times


def measure_keystrokes(folder: Path, lines: int, count: int) -> dict[str, list[float]]:
    """The seconds from each change to its diagnostics, for each server; the first ones warm up."""
    text = template(lines)
    place = typing_place(text)
    line, column = text.count("\n", 0, place), place - text.rfind("\n", 0, place) - 1
    uri = (folder / f"benchmark_{lines}.yml.j2").as_uri()
    document = {"uri": uri, "languageId": "yaml-jinja", "version": 1, "text": text}
    times: dict[str, list[float]] = {name: [] for name in SERVERS}
    clients = {name: Client(command, folder) for name, command in SERVERS.items()}
    try:
        for client in clients.values():
            client.initialize()
            client.notify("textDocument/didOpen", {"textDocument": document})
        warm_up = 20
        for version in range(2, count + warm_up + 2):
            begin = {"line": line, "character": column}
            typed = version % 2 == 0
            end = begin if typed else {"line": line, "character": column + 1}
            change = {"range": {"start": begin, "end": end}, "text": "|" if typed else ""}
            params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
            for name, client in clients.items():
                started = time.perf_counter()
                client.notify("textDocument/didChange", params)
                client.wait_for_diagnostics(uri, version)
                if version > warm_up + 1:
                    times[name].append(time.perf_counter() - started)
            time.sleep(0.005)  # both servers idle before the next keystroke, as they do between real ones
    finally:
        for client in clients.values():
            client.__exit__(None, None, None)
    return times


def print_in_process(sizes: list[int], count: int) -> None:
    """Print what reading, editing and checking a template take, without any server."""
    from promptls.rules.check import check
    from promptls.text.span import Span
    from promptls.workspace.workspace import Workspace

    print("milliseconds                 open      edit     check  (medians; edit and check of a keystroke)")
    for lines in sizes:
        text = template(lines)
        place = typing_place(text)
        path = "/benchmark/main.yml.j2"
        workspace = Workspace()
        started = time.perf_counter()
        workspace.open(path, text, 1)
        found = check(workspace.snapshot, path)
        opening = time.perf_counter() - started
        assert not found, found
        edits, checks = [], []
        for version in range(2, count + 2):
            started = time.perf_counter()
            typed = version % 2 == 0
            edit = (Span(place, place), "|") if typed else (Span(place, place + 1), "")
            workspace.edit(path, version, [edit])
            edited = time.perf_counter()
            found = check(workspace.snapshot, path)
            assert bool(found) is typed, found
            edits.append(edited - started)
            checks.append(time.perf_counter() - edited)
        columns = (opening, statistics.median(edits), statistics.median(checks))
        print(f"{lines:>6} lines        " + "".join(f"{1000 * column:10.2f}" for column in columns))


def print_row(name: str, times: dict[str, list[float]]) -> None:
    """Print one line of the table."""
    cells = []
    for measured in times.values():
        p95 = statistics.quantiles(measured, n=20)[-1]
        cells.append(f"{1000 * statistics.median(measured):7.2f} {1000 * p95:7.2f}")
    ratio = statistics.median(times["promptls"]) / statistics.median(times["empty"])
    print(f"{name:<23} {cells[0]}   {cells[1]}   {ratio:9.2f}", flush=True)


if __name__ == "__main__":
    main()
