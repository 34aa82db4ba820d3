"""The speed and memory of a run, compared with a bare client that only sends requests.

    python tests/benchmarks/experiments.py [--rows 10000] [--concurrency 32] [--latency 0.1]

A local server answers each request after the same delay. A bare asyncio client with the same HTTP library
first sends the requests of all rows with the same concurrency. Then promptls runs the experiment: it also
stores each row on disk, scores it with four metrics, three of them functions of a user's file, and caches the
answer. The exit code is 1 if the run is more than 10 % slower, if its memory grows with the rows, or if a
cancelled run takes more than a second to end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPT = """\
{{#---
input_keys: [text]
output_key: answer
experiments:
  main:
    dataset: rows.csv
    models: [office]
    metrics: [exact_match, metrics.py:length, metrics.py:words, metrics.py:right]
    concurrency: {concurrency}
---#}}
- name: rules
  role: system
  content: |
    You answer short questions about tickets in one word, and say nothing else.
- name: question
  role: user
  content: |
    {{{{ escape_special_characters(text) }}}}
"""

METRICS = """\
from promptls import MetricResult, discrete_metric, numeric_metric

@numeric_metric()
def length(response):
    return len(response)

@numeric_metric()
def words(response, text):
    return len(set(response.split()) & set(text.split()))

@discrete_metric(allowed_values=["yes", "no"])
def right(response, expected_answer):
    return MetricResult("yes" if response == expected_answer else "no", f"expected {expected_answer}")
"""

MAX_SLOWER = 1.10
MAX_GROWTH = 10.0
MAX_CANCEL = 1.0

COMPLETION = json.dumps(
    {
        "model": "small",
        "choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 1},
    }
).encode()


async def serve(latency: float) -> None:
    """Answer every request after `latency` seconds; print the port on standard output."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(COMPLETION)}\r\n\r\n"
    answer = head.encode() + COMPLETION

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = await reader.readuntil(b"\r\n\r\n")
                length = header.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
                await reader.readexactly(int(length))
                await asyncio.sleep(latency)
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer_all, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def bare(url: str, rows: int, concurrency: int) -> float:
    """Return the seconds that a client takes that only sends the requests."""
    import httpx

    bodies = iter(
        {"model": "small", "messages": [{"role": "user", "content": f"text {index}"}]}
        for index in range(rows)
    )
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=1000)

    async def work(client: httpx.AsyncClient) -> None:
        for body in bodies:
            response = await client.post(f"{url}/chat/completions", json=body)
            assert response.json()["choices"]

    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        began = time.perf_counter()
        await asyncio.gather(*(work(client) for _ in range(concurrency)))
        return time.perf_counter() - began


def write_folder(folder: Path, url: str, rows: int, concurrency: int) -> Path:
    """Write the prompt of an experiment with this number of rows."""
    (folder / "promptls.toml").write_text(
        f'[models.office]\nprovider = "openai"\nmodel = "small"\nbase_url = "{url}"\n', encoding="utf-8"
    )
    lines = [f"{index},text {index},fine" for index in range(rows)]
    (folder / "rows.csv").write_text("\n".join(["id,text,answer", *lines, ""]), encoding="utf-8")
    (folder / "metrics.py").write_text(METRICS, encoding="utf-8")
    prompt = folder / "ask.yml.j2"
    prompt.write_text(PROMPT.format(concurrency=concurrency), encoding="utf-8")
    return prompt


def megabytes() -> float:
    """Return the memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def whole_run(prompt: Path) -> dict[str, float]:
    """Return the seconds of the plan and of the run, and the megabytes after its first and last rows."""
    from promptls.experiments.prepare import prepare_run
    from promptls.experiments.prompt_runner import run_plan
    from promptls.experiments.run_protocol import Event, RowFinished, RunRequest

    memory: list[float] = []

    def see(event: Event) -> None:
        if isinstance(event, RowFinished) and event.done in {event.total // 10, event.total}:
            memory.append(megabytes())

    began = time.perf_counter()
    async with prepare_run(RunRequest(str(prompt), yes=True)) as (plan, continued, _):
        looked = time.perf_counter()
        finished = await run_plan(plan, see, continued=continued)
        ended = time.perf_counter()
    assert finished.manifest["totals"]["failed"] == 0
    return {"look": looked - began, "run": ended - looked, "early": memory[0], "late": memory[-1]}


async def cancelled_run(prompt: Path) -> float:
    """Return the seconds from cancelling a run in the middle to its end."""
    from promptls.experiments.client import run_in_process
    from promptls.experiments.run_protocol import Event, RowFinished, RunRequest

    middle = asyncio.Event()

    def see(event: Event) -> None:
        if isinstance(event, RowFinished) and event.done >= min(500, event.total // 2):
            middle.set()

    run = asyncio.create_task(run_in_process(RunRequest(str(prompt), fresh=True), see))
    await middle.wait()
    began = time.perf_counter()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds of each answer")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.latency))
    command = [sys.executable, __file__, "--serve", "--latency", str(arguments.latency)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            return measured(url, Path(folder), arguments)
        finally:
            server.kill()


def measured(url: str, folder: Path, arguments: argparse.Namespace) -> int:
    """Print the table; return 1 if a limit is exceeded."""
    rows, concurrency = arguments.rows, arguments.concurrency
    prompt = write_folder(folder, url, rows, concurrency)
    asyncio.run(bare(url, min(rows, 10 * concurrency), concurrency))
    alone = asyncio.run(bare(url, rows, concurrency))
    run = asyncio.run(whole_run(prompt))
    cancel = asyncio.run(cancelled_run(prompt))
    ratio = run["run"] / alone
    growth = run["late"] - run["early"]
    print(f"{rows:,} rows, {concurrency} at once, a server that answers after {arguments.latency:g} s\n")
    print(f"bare client      {alone:8.2f} s  {rows / alone:8.0f} rows/s")
    print(f"promptls run     {run['run']:8.2f} s  {rows / run['run']:8.0f} rows/s   {ratio:.2f} x the time")
    print(f"look before it   {run['look']:8.2f} s  {rows / run['look']:8.0f} rows/s")
    print(f"memory           {run['early']:8.1f} MB after a tenth, {run['late']:.1f} MB at the end")
    print(f"cancel           {cancel:8.2f} s")
    broken = [
        words
        for words, value, most in (
            ("slower than the bare client", ratio, MAX_SLOWER),
            ("megabytes more at the end", growth, MAX_GROWTH),
            ("seconds to cancel", cancel, MAX_CANCEL),
        )
        if value > most
    ]
    for words in broken:
        print(f"not kept: {words}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
