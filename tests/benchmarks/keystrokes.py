"""The latency of typing, compared with an empty server and with other servers.

    python tests/benchmarks/keystrokes.py                 the empty server, 50 to 50,000 lines
    python tests/benchmarks/keystrokes.py --peers         jinja-lsp and yaml-language-server too
    python tests/benchmarks/keystrokes.py --in-process    the analysis alone, without a server
    python tests/benchmarks/keystrokes.py --lines 500 --keystrokes 400

The same edits are typed into templates of every length: prose, an error, its removal, and back again. The
servers take turns at every keystroke, so that other load on the machine affects all of them equally. The
ratios within one run are printed at the end, beside their goals (`goals.py`). With peers, a run takes about
four minutes; slow actions are measured only a few times. "no answer" means none within 10 seconds, or within
30 after opening the file; such a server is not measured further with files of that length.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from client import Client, NoAnswerError
from goals import OTHER_KINDS, REQUESTS, Times, percentile, print_goals
from servers import EMPTY, PROMPTLS, Server, peers
from templates import evaluation_prompt, prompt_object, saved_json, template, typing_place
from typist import BURST, KINDS_OF_KEYSTROKES, OPENING_SECONDS, Typist

WARM_UP = 12
WARM_UP_SECONDS = 0.5
MAX_SECONDS = 3
"""The maximum time of one server in one phase; each server is measured at least a few times."""
FEWEST = 2
FIRST_LINES = 50
"""The length of the template that is opened after each start."""
MAX_OTHER_LINES = 5000
"""Prompts of other kinds are only measured at lengths that people write by hand."""
TEXTS = {"an object": prompt_object, "an evaluation": evaluation_prompt, "saved JSON": saved_json}


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
        starts, diagnostics = measure_starts(folder, servers, arguments.starts)
        print_row("start to initialized", starts)
        print_row("start to first diagnostics", diagnostics)
        first, empty = diagnostics[PROMPTLS.name], starts[EMPTY.name]
        ratio = percentile(first, 50) / percentile(empty, 50)
        print(f"first diagnostics over the empty server's start to initialized: {ratio:.2f}")
        measured: dict[tuple[str, int], Times] = {}
        for lines in arguments.lines:
            for row, times in measure_template(folder, servers, lines, arguments.keystrokes):
                print_row(f"{row}, {lines} lines", times)
                measured[row, lines] = times
            for kind in OTHER_KINDS if lines <= MAX_OTHER_LINES else ():
                row, times = (
                    f"keystroke in {kind}",
                    measure_other(folder, servers, kind, lines, arguments.keystrokes),
                )
                print_row(f"{row}, {lines} lines", times)
                measured[row, lines] = times
        print_goals(measured)


def measure_starts(folder: Path, servers: list[Server], count: int) -> tuple[Times, Times]:
    """Return the seconds from starting each server to its answer to `initialize`, and to its first
    diagnostics.
    """
    initialized: Times = {server.name: [] for server in servers}
    diagnosed: Times = {server.name: [] for server in servers}
    uri = (folder / "first.yml.j2").as_uri()
    text = template(FIRST_LINES)
    for _ in range(count):
        for server in servers:
            started = time.perf_counter()
            with Client(server.command, folder) as client:
                client.initialize()
                initialized[server.name].append(time.perf_counter() - started)
                document = {"uri": uri, "languageId": server.language, "version": 1, "text": text}
                client.seconds = OPENING_SECONDS
                try:
                    client.notify("textDocument/didOpen", {"textDocument": document})
                    client.wait_for_diagnostics(uri, 1)
                    diagnosed[server.name].append(time.perf_counter() - started)
                except (NoAnswerError, EOFError, BrokenPipeError):
                    diagnosed[server.name].append(math.inf)
    return initialized, diagnosed


def opened(folder: Path, servers: list[Server], text: str, name: str) -> dict[str, Typist]:
    """Return a typist for each server that has opened the text in time."""
    typists = {}
    for server in servers:
        with contextlib.suppress(NoAnswerError, EOFError, BrokenPipeError):
            typists[server.name] = Typist(server, folder, text, name)
    return typists


def measure_template(
    folder: Path, servers: list[Server], lines: int, count: int
) -> Iterator[tuple[str, Times]]:
    """Yield the table rows of a template of this length, each with its name."""
    typists = opened(folder, servers, template(lines), f"benchmark_{lines}.yml.j2")
    try:
        yield "keystroke", repeated(servers, typists, Typist.keystroke, count)
        for request in REQUESTS:
            times = repeated(servers, typists, partial(Typist.ask, request=request), count // 2)
            yield f"{request} after an edit", times
        yield from measure_bursts(servers, typists, count // 4)
    finally:
        for typist in typists.values():
            typist.client.close()


def measure_bursts(
    servers: list[Server], typists: dict[str, Typist], count: int
) -> Iterator[tuple[str, Times]]:
    """Yield the rows of bursts, and of the keystrokes between them."""
    acts = [Typist.burst, *[Typist.keystroke] * KINDS_OF_KEYSTROKES]
    times = repeated_in_turn(servers, typists, acts, count * len(acts))
    yield f"burst of {BURST}", times[0]
    between = {server.name: [each for keys in times[1:] for each in keys[server.name]] for server in servers}
    yield "keystroke between bursts", between


def measure_other(folder: Path, servers: list[Server], kind: str, lines: int, count: int) -> Times:
    """Return the seconds of a keystroke in the middle of a prompt of another kind."""
    name = f"saved_{lines}.json" if kind == "saved JSON" else f"{kind.rsplit(maxsplit=1)[-1]}_{lines}.yml.j2"
    typists = opened(folder, servers, TEXTS[kind](lines), name)
    try:
        return repeated(servers, typists, Typist.keystroke, count)
    finally:
        for typist in typists.values():
            typist.client.close()


def repeated(
    servers: list[Server], typists: dict[str, Typist], act: Callable[[Typist], None], count: int
) -> Times:
    """Return the repeated measurements of an action for each server; the first ones warm up.

    A server that does not answer in time gets infinity, and is not measured further.
    """
    (times,) = repeated_in_turn(servers, typists, [act], count)
    return times


def repeated_in_turn(
    servers: list[Server], typists: dict[str, Typist], acts: Sequence[Callable[[Typist], None]], count: int
) -> list[Times]:
    """Measure several actions in turn; `count` is their total number."""
    times: list[Times] = [
        {server.name: [] if server.name in typists else [math.inf] for server in servers} for _ in acts
    ]
    spent = dict.fromkeys(typists, 0.0)
    for index in range(count + WARM_UP):
        act_index = index % len(acts)
        for name, typist in list(typists.items()):
            if spent[name] > MAX_SECONDS and all(len(each[name]) >= FEWEST for each in times):
                continue
            try:
                acts[act_index](typist)
            except (NoAnswerError, EOFError, BrokenPipeError):
                typists.pop(name).client.close()
                for each in times:
                    each[name] = [math.inf]
                continue
            spent[name] += typist.took
            if index >= WARM_UP or spent[name] > WARM_UP_SECONDS:
                times[act_index][name].append(typist.took)
        time.sleep(0.003)  # the servers idle before the next keystroke, as they do between real ones
    return times


def print_in_process(sizes: list[int], count: int) -> None:
    """Print the time of reading, editing and checking, without a server."""
    print("milliseconds                open      edit     check  (medians; edit and check of a keystroke)")
    for lines in sizes:
        print_analysis(f"{lines:>6} lines", template(lines), count)
        for kind in OTHER_KINDS if lines <= MAX_OTHER_LINES else ():
            name = "saved.json" if kind == "saved JSON" else "main.yml.j2"
            print_analysis(f"{lines:>6} in {kind}", TEXTS[kind](lines), count, name)


def print_analysis(row: str, text: str, count: int, name: str = "main.yml.j2") -> None:
    """Print the time of opening, editing and checking a text in which a tag breaks and is fixed in turn."""
    from promptls.lint.runner import check
    from promptls.text.positions import Span
    from promptls.workspace.workspace import Workspace

    place = typing_place(text)
    path = f"/benchmark/{name}"
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
        assert (found != before) is typed or name.endswith(".json"), found
        edits.append(edited - started)
        checks.append(time.perf_counter() - edited)
    columns = (opening, statistics.median(edits), statistics.median(checks))
    print(f"{row:<22}" + "".join(f"{1000 * column:10.2f}" for column in columns))


def print_row(name: str, times: Times) -> None:
    """Print one line of the table."""
    ours, empty = times[PROMPTLS.name], times[EMPTY.name]
    ratios = [percentile(ours, percent) / percentile(empty, percent) for percent in (50, 95)]
    cells = "".join(cell(measured) for measured in times.values())
    print(f"{name:<34}{cells}   {ratios[0]:5.2f} x, p95 {ratios[1]:5.2f} x", flush=True)


def cell(measured: list[float]) -> str:
    """Return the median and the 95th percentile, formatted for the table."""
    median = percentile(measured, 50)
    if math.isinf(median):
        return f"{'no answer':>22}"
    return f"{1000 * median:15.2f}{1000 * percentile(measured, 95):7.1f}"


if __name__ == "__main__":
    main()
