"""How soon a keystroke is seen in the preview, beside what the real Prompt Poet needs for the same text.

    python tests/benchmarks/preview.py                      50, 500 and 5,000 lines
    python tests/benchmarks/preview.py --python PATH        with the Prompt Poet of that interpreter

A character is typed into the middle of an open file, and the preview asked for at once, as the panel
does: the time ends when the client has read the rendered parts with their counts. Prompt Poet renders,
loads and tokenizes each of the same texts in a process that has done nothing else. What both come to
must be equal, to the character and to the token, or the run fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from client import Client
from library import data_of, peer_environment, peer_results
from templates import HEADER, template

SIZES = (50, 500, 5_000)
KEYS = 40
"""How many characters are typed; the first ones, while everything is cold, do not count."""
COLD = 5
TURNS = 8
MOST = 2.0
"""How many times as long as Prompt Poet a preview may take."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter that has Prompt Poet")
    parser.add_argument("--keys", type=int, default=KEYS)
    arguments = parser.parse_args()
    interpreter = arguments.python or peer_environment()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "data.json").write_text(json.dumps(data_of(TURNS)), "utf-8")
        ours = [measured(folder, size, arguments.keys) for size in SIZES]
        jobs = [job(folder, size, arguments.keys) for size in SIZES]
        theirs = peer_results(interpreter, folder, jobs) if interpreter else None
    print_table(ours, theirs)
    for our, their in zip(ours, theirs or (), strict=False):
        if (our["string"], our["tokens"]) != (their["string"], their["tokens"]):
            sys.exit("promptls and Prompt Poet come to something else")


def texts(size: int, keys: int) -> list[str]:
    """The file's text, and its text behind each key."""
    text = template(size).replace(HEADER.splitlines()[1], f"{HEADER.splitlines()[1]}\nsamples: data.json", 1)
    place = typing_place(text)
    return [text[:place] + "x" * count + text[place:] for count in range(keys + 1)]


def typing_place(text: str) -> int:
    """The end of a line of prose in the middle of the text."""
    marker = "with nothing to it."
    return text.index(marker, len(text) // 2 if text.count(marker) > 1 else 0) + len(marker)


def measured(folder: Path, size: int, keys: int) -> dict[str, Any]:
    """What promptls takes from key to preview, in milliseconds, and what it shows in the end."""
    path = folder / f"prompt-{size}.yml.j2"
    first, *others = texts(size, keys)
    path.write_text(first, "utf-8")
    uri = path.as_uri()
    place = typing_place(first)
    line, column = first.count("\n", 0, place), place - first.rfind("\n", 0, place) - 1
    times: list[float] = []
    with Client([sys.executable, "-m", "promptls"], folder) as client:
        client.initialize()
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": first}
        client.notify("textDocument/didOpen", {"textDocument": document})
        found = preview(client, uri)
        for number in range(len(others)):
            where = {"line": line, "character": column + number}
            change = {"range": {"start": where, "end": where}, "text": "x"}
            versioned = {"uri": uri, "version": number + 2}
            started = time.perf_counter()
            client.notify(
                "textDocument/didChange", {"textDocument": versioned, "contentChanges": [change]}
            )
            found = preview(client, uri)
            times.append(1000 * (time.perf_counter() - started))
            # People do not type faster than this, and the server looks at the text meanwhile.
            time.sleep(0.12)
    counted = times[COLD:]
    rendering = found["rendering"]
    return {
        "p50": statistics.median(counted),
        "p95": statistics.quantiles(counted, n=20)[-1],
        "string": rendering["string"],
        "tokens": rendering["tokens"],
    }


def preview(client: Client, uri: str) -> Any:
    """What the panel shows."""
    return client.request(
        "workspace/executeCommand", {"command": "promptls.preview", "arguments": [{"uri": uri}]}
    )


def job(folder: Path, size: int, keys: int) -> dict[str, Any]:
    """The same texts for Prompt Poet, each in a file of its own, as it caches none without being asked."""
    paths = []
    for number, text in enumerate(texts(size, keys)[COLD:]):
        path = folder / f"typed-{size}-{number}.yml.j2"
        path.write_text(text, "utf-8")
        paths.append(str(path))
    return {
        "paths": paths,
        "data": [data_of(TURNS)] * len(paths),
        "token_limit": -1,
        "truncation_step": None,
        "is_counted": True,
        "from_cache": False,
    }


def print_table(ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None) -> None:
    print("from a key to its preview, milliseconds\n")
    print(f"{'lines':>8}{'promptls p50':>16}{'p95':>9}{'Prompt Poet':>14}{'ratio':>8}")
    for place, (size, our) in enumerate(zip(SIZES, ours, strict=True)):
        their = theirs[place]["next"] if theirs else None
        beside = f"{their:>14.1f}{our['p50'] / their:>8.2f}" if their else f"{'-':>14}{'-':>8}"
        print(f"{size:>8,}{our['p50']:>16.1f}{our['p95']:>9.1f}{beside}")
    if theirs:
        print(f"\na ratio of at most {MOST:g} is wanted")


if __name__ == "__main__":
    main()
