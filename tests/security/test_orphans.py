"""No process of promptls outlives its parent, and no files are left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import pytest

import promptls
from promptls.rendering.job import RenderJob, encode_frame, read_frame
from promptls.rendering.mark import MarkFile
from support.experiment_folder import Folder
from support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("real_starts")

PACKAGES = str(Path(promptls.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": PACKAGES}

LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}"
LONG_OPERATION = "{{ 7 ** 10 ** 9 == 0 }}"
"""Code that blocks all other threads of the process."""

OWNER = """
import asyncio, sys
from promptls.rendering.job import RenderJob
from promptls.rendering.worker import Limits
from promptls.rendering.worker import RenderWorker

async def main():
    worker = RenderWorker(Limits(seconds=600, memory_bytes=None))
    job = RenderJob(path=sys.argv[1], text="- name: a\\n  role: user\\n  content: '" + sys.argv[2] + "'\\n")
    going = asyncio.ensure_future(worker.render(job))
    while worker._process.marked(unseen=False) is None and not going.done():
        await asyncio.sleep(0.01)
    print(worker._process.pid, flush=True)
    await going

asyncio.run(main())
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process that is busy")
posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")


def is_there(pid: int) -> bool:
    """Return whether the process runs; zombies do not count."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


def started(module: str, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", module, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=PACKAGES, env=ENVIRONMENT, **options)


def stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


@posix
@pytest.mark.parametrize("content", [LOOP, pytest.param(LONG_OPERATION, marks=linux)])
def test_a_worker_ends_when_its_owner_is_killed(tmp_path: Path, content: str) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "a.yml.j2"), content]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as owner:
        worker = int(stream(owner.stdout).readline())
        assert is_there(worker)
        owner.kill()
    wait_until(lambda: not is_there(worker))


@linux
def test_the_processes_of_a_check_end_when_it_is_killed(tmp_path: Path) -> None:
    for number in range(41):
        (tmp_path / f"{number}.yml.j2").write_text(f"- name: a\n  content: '{LOOP}'\n", "utf-8")
    job = "from promptls.cli import checked, chosen_files as chosen\n"
    job += "checked.checked_files(chosen.choose(['.']), {'failing-rendering'}, processes=2)"
    with subprocess.Popen([sys.executable, "-c", job], cwd=tmp_path, env=ENVIRONMENT) as check:
        wait_until(lambda: len(children(check.pid)) == 2)
        pool = children(check.pid)
        wait_until(lambda: all(map(children, pool)))  # they render
        check.kill()
    wait_until(lambda: not any(map(is_there, pool)))


@linux
def test_a_worker_ends_when_the_server_is_killed(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text("[rendering]\ntimeout = 600\n", "utf-8")
    uri = (tmp_path / "a.yml.j2").as_uri()
    document = {
        "uri": uri,
        "languageId": "promptls",
        "version": 1,
        "text": f"- name: a\n  role: user\n  content: '{LOOP}'\n",
    }
    beginning = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
    with started("promptls", "server") as server:
        for index, (method, params) in enumerate(
            [
                ("initialize", {**beginning, "initializationOptions": {"trusted": True}}),
                ("initialized", {}),
                ("textDocument/didOpen", {"textDocument": document}),
                ("workspace/executeCommand", {"command": "promptls.preview", "arguments": [{"uri": uri}]}),
            ]
        ):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
            if method in {"initialize", "workspace/executeCommand"}:
                message["id"] = index
            body = json.dumps(message).encode()
            stream(server.stdin).write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            stream(server.stdin).flush()
        wait_until(lambda: bool(children(server.pid)))
        workers = children(server.pid)
        wait_until(lambda: all(map(uses_the_processor, workers)))
        server.kill()
    wait_until(lambda: not any(map(is_there, workers)))


def uses_the_processor(pid: int) -> bool:
    """Return whether the process has used a second of CPU time; starting takes less."""
    used = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11]
    return int(used) > 1.5 * os.sysconf("SC_CLK_TCK")


def test_a_worker_ends_with_its_input_in_the_middle_of_a_job(tmp_path: Path) -> None:
    mark = MarkFile()
    worker = started("promptls.rendering.process", "none", mark.argument, pass_fds=mark.inherited)
    with worker:
        assert read_frame(stream(worker.stdout)) == {"ready": True}
        job = RenderJob(path=str(tmp_path / "a.yml.j2"), text=f"- name: a\n  content: '{LOOP}'\n")
        request = {"id": 1, "job": job.to_json(), "seconds": 600.0, "tells_start": False}
        stream(worker.stdin).write(encode_frame(request))
        stream(worker.stdin).flush()
        wait_until(lambda: mark.place(unseen=False) is not None)
        stream(worker.stdin).close()
        assert worker.wait(60) == 0
    mark.close()


def test_the_results_process_ends_with_its_input() -> None:
    with started("promptls.results_view.results_process") as process:
        stream(process.stdin).close()
        assert process.wait(60) == 0


def test_a_run_ends_with_its_input_in_a_metric_that_never_returns(tmp_path: Path) -> None:
    folder = Folder(tmp_path).write(metrics="metrics.py:endless")
    endless = "def endless(response):\n    open('began', 'w').close()\n    while True:\n        pass\n"
    (tmp_path / "metrics.py").write_text(endless, "utf-8")
    with started("promptls.experiments.process", stderr=subprocess.DEVNULL) as process:
        stream(process.stdin).write(json.dumps({"prompt": str(folder.prompt), "yes": True}).encode() + b"\n")
        stream(process.stdin).flush()
        wait_until((tmp_path / "began").exists)
        stream(process.stdin).close()
        process.wait(60)


@posix
def test_nothing_in_the_temporary_folder_outlives_a_killed_owner(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "a.yml.j2"), LOOP]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as owner:
        stream(owner.stdout).readline()
        owner.send_signal(signal.SIGKILL)
    assert list(temporary.iterdir()) == []


def test_a_mark_file_takes_no_place_in_the_temporary_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mark = MarkFile()
    assert bool(list(tmp_path.iterdir())) is (sys.platform == "win32")
    mark.close()
    assert list(tmp_path.iterdir()) == []
