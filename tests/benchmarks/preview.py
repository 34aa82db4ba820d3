"""The time from a keystroke to its preview, compared with the real Prompt Poet on the same text.

    python tests/benchmarks/preview.py                      50, 500 and 5,000 lines
    python tests/benchmarks/preview.py --python PATH        with the Prompt Poet of that interpreter

A character is typed into the middle of an open file, and the preview is requested immediately, as by the
panel. The time ends when the client has read the rendered parts with their counts. After each key, Prompt
Poet renders, loads and tokenizes the same text in its own process. The run fails unless both results are
equal, to the character and to the token.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from client import Client
from library import data_of, peer_environment, ranks_file
from templates import HEADER, template

if TYPE_CHECKING:
    from typing_extensions import Self

SIZES = (50, 500, 5_000)
KEYS = 25
"""The number of typed characters; the first ones, before everything is loaded, are not measured."""
COLD = 5
TURNS = 8
PAUSE_SECONDS = 0.15
"""People do not type faster, and the server analyzes the text in these pauses."""
MAX = 2.0
"""The maximum ratio of a preview's time to Prompt Poet's."""


class Peer:
    """Prompt Poet in a child process that renders one text after another."""

    def __init__(self, interpreter: Path, folder: Path) -> None:
        request = folder / "peer.json"
        request.write_text(json.dumps({"ranks": str(ranks_file(folder))}), "utf-8")
        command = [str(interpreter), str(Path(__file__).with_name("prompt_poet_peer.py")), str(request)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._path = folder / "typed.yml.j2"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def measured(self, text: str) -> dict[str, Any]:
        """Return Prompt Poet's time for the text, and its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._path.write_text(text, "utf-8")
        job = {
            "path": str(self._path),
            "data": [data_of(TURNS)],
            "token_limit": -1,
            "truncation_step": None,
            "is_counted": True,
            "from_cache": False,
        }
        print(json.dumps(job), file=self._process.stdin, flush=True)
        result: dict[str, Any] = json.loads(self._process.stdout.readline())
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter that has Prompt Poet")
    parser.add_argument("--keys", type=int, default=KEYS)
    arguments = parser.parse_args()
    interpreter = arguments.python or peer_environment()
    if interpreter is None:
        sys.exit("without Prompt Poet there is nothing to compare with")
    print("from a key to its preview, milliseconds\n")
    print(f"{'lines':>8}{'promptls p50':>16}{'p95':>9}{'Prompt Poet p50':>18}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "data.json").write_text(json.dumps(data_of(TURNS)), "utf-8")
        with Peer(interpreter, folder) as peer:
            for size in SIZES:
                ours, theirs = measured(folder, peer, size, arguments.keys)
                p50, p95, their = statistics.median(ours), sorted(ours)[-2], statistics.median(theirs)
                print(f"{size:>8,}{p50:>16.1f}{p95:>9.1f}{their:>18.1f}{p50 / their:>8.2f}")
    print(f"\na ratio of at most {MAX:g} is required")


def measured(folder: Path, peer: Peer, size: int, keys: int) -> tuple[list[float], list[float]]:
    """Return the times from each key to its preview, and Prompt Poet's times for the same text."""
    path = folder / f"prompt-{size}.yml.j2"
    named = HEADER.splitlines()[1]
    text = template(size).replace(named, f"{named}\nsamples: data.json", 1)
    path.write_text(text, "utf-8")
    uri = path.as_uri()
    place = typing_place(text)
    line, column = text.count("\n", 0, place), place - text.rfind("\n", 0, place) - 1
    ours: list[float] = []
    theirs: list[float] = []
    with Client([sys.executable, "-m", "promptls"], folder) as client:
        client.initialize()
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        preview(client, uri)
        for index in range(keys):
            where = {"line": line, "character": column + index}
            change = {"range": {"start": where, "end": where}, "text": "x"}
            changed = {"textDocument": {"uri": uri, "version": index + 2}, "contentChanges": [change]}
            text = text[: place + index] + "x" + text[place + index :]
            started = time.perf_counter()
            client.notify("textDocument/didChange", changed)
            found = preview(client, uri)["rendering"]
            took = 1000 * (time.perf_counter() - started)
            time.sleep(PAUSE_SECONDS)
            their = peer.measured(text)
            if (found["string"], found["tokens"]) != (their["string"], their["tokens"]):
                sys.exit("promptls and Prompt Poet come to something else")
            if index >= COLD:
                ours.append(took)
                theirs.append(their["first"])
    return ours, theirs


def typing_place(text: str) -> int:
    """Return the end of a line of prose in the middle of the text."""
    marker = "with nothing to it."
    return text.index(marker, len(text) // 2 if text.count(marker) > 1 else 0) + len(marker)


def preview(client: Client, uri: str) -> Any:
    """Return the content of the preview."""
    return client.request(
        "workspace/executeCommand", {"command": "promptls.preview", "arguments": [{"uri": uri}]}
    )


if __name__ == "__main__":
    main()
