"""The time until a workspace of thousands of templates is ready, and until a change reaches the open ones.

    python tests/benchmarks/workspace.py                    2,000 templates, 500 of which include one file
    python tests/benchmarks/workspace.py --templates 10000

A section is recognized only by the files that include it, so its diagnostics appear when the workspace has
been scanned. Outlines are requested from the start, one after the other.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from client import Client
from templates import template

SHARED = 500
"""The number of templates that include the shared file."""
OPEN = 10
"""The number of these that are open."""
LINES = 40
BASE = "{% macro greet(name) %}Hello {{ name }}{% endmacro %}\n- name: base\n  role: system\n  content: x\n"
WRONG_ROLE = BASE.replace("system", "sytem")
PULLS = {
    "textDocument": {"diagnostic": {}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
    "window": {"workDoneProgress": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--templates", type=int, default=2000)
    count = parser.parse_args().templates
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_workspace(folder, count)
        print(f"{count:,} templates of {LINES} lines, {SHARED} of them with the same include")
        measure_start(folder)
        measure_change(folder)
        measure_all(folder, count)


def write_workspace(folder: Path, count: int) -> None:
    """Write the templates, 50 to a folder, and the file that many of them include."""
    text = template(LINES)
    (folder / "base.yml.j2").write_text(WRONG_ROLE)
    for index in range(count):
        shares = index < SHARED
        path = entry(folder, index)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + ('{% include "base.yml.j2" %}\n' if shares else ""))


def entry(folder: Path, number: int) -> Path:
    """Return the path of a template; those with a shared include are beside it, as Prompt Poet requires."""
    return (
        folder / f"t{number}.yml.j2" if number < SHARED else folder / f"d{number // 50}" / f"t{number}.yml.j2"
    )


@contextmanager
def server(folder: Path, capabilities: dict[str, Any]) -> Iterator[Client]:
    with Client([sys.executable, "-m", "promptls", "server"], folder) as client:
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        client.request("initialize", params)
        client.notify("initialized", {})
        yield client


def opened(client: Client, path: Path) -> str:
    uri = path.as_uri()
    document = {"uri": uri, "languageId": "promptls", "version": 1, "text": path.read_text()}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return uri


def measure_start(folder: Path) -> None:
    """Time the first answers, the outlines meanwhile, and the recognition of the section."""
    with server(folder, {"window": {"workDoneProgress": True}}) as client:
        begun = time.perf_counter()
        uri = opened(client, entry(folder, 0))
        base = opened(client, folder / "base.yml.j2")
        place = {"textDocument": {"uri": uri}}
        outlines: list[float] = []
        ready = 0.0
        progress: list[str] = []
        number = 100
        requested_at = 0.0
        while not ready or len(outlines) < 20:
            if not requested_at:
                requested_at = time.perf_counter()
                client._send({"id": number, "method": "textDocument/documentSymbol", "params": place})
            message = client._read()
            method = message.get("method")
            if method is None:
                outlines.append(time.perf_counter() - requested_at)
                requested_at, number = 0.0, number + 1
            elif "id" in message:
                client._send({"id": message["id"], "result": None})
            elif method == "$/progress":
                progress.append(message["params"]["value"]["kind"])
            elif method == "textDocument/publishDiagnostics" and message["params"]["uri"] == base:
                ready = ready or time.perf_counter() - begun
        print(f"  first outline answered after    {outlines[0]:8.2f} s")
        print(f"  section known as one after      {ready:8.2f} s")
        print(f"  outlines from then, median      {1000 * statistics.median(outlines[1:]):8.1f} ms")
        print(f"  outlines from then, longest     {1000 * max(outlines[1:]):8.1f} ms")
        shown = " ".join(dict.fromkeys(progress)) or "none: it was too short"
        print(f"  progress                        {shown}")


def measure_change(folder: Path) -> None:
    """Time a change of the shared file, until the diagnostics of the files that include it are updated."""
    with server(folder, {}) as client:
        uris = [opened(client, entry(folder, index)) for index in range(OPEN)]
        base = opened(client, folder / "base.yml.j2")
        client.wait_for_diagnostics(base, 1)
        times = []
        for version in range(2, 12):
            # A file that includes what includes it is in a cycle, which is reported at its include.
            text = BASE if version % 2 else f'{{% include "{entry(folder, 0).name}" %}}\n{BASE}'
            document = {"uri": base, "version": version}
            waiting = {uris[0]}
            begun = time.perf_counter()
            params = {"textDocument": document, "contentChanges": [{"text": text}]}
            client.notify("textDocument/didChange", params)
            while waiting:
                message = client._read()
                if message.get("method") == "textDocument/publishDiagnostics":
                    waiting.discard(message["params"]["uri"])
            times.append(time.perf_counter() - begun)
        print(f"  a change of what {SHARED} include, until an open one is right")
        print(
            f"                                  {1000 * statistics.median(times):8.0f} ms, with {OPEN} open"
        )


def measure_all(folder: Path, count: int) -> None:
    """Time the diagnostics of the whole workspace: the first time, and without changes."""
    with server(folder, PULLS) as client:
        previous: list[Any] = []
        for name in ("first", "again"):
            begun = time.perf_counter()
            result = client.request("workspace/diagnostic", {"previousResultIds": previous})
            seconds = time.perf_counter() - begun
            assert len(result["items"]) == count + 1, len(result["items"])
            previous = [{"uri": item["uri"], "value": item["resultId"]} for item in result["items"]]
            print(f"  all diagnostics, {name:<14} {seconds:8.2f} s")


if __name__ == "__main__":
    main()
