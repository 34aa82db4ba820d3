from __future__ import annotations

import contextlib
import csv
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from promptls.experiments.scores import RowResult
from promptls.experiments.unfinished import create_run, reopen_run, unfinished_runs
from promptls.text.errors import UserError
from support.experiment_folder import Folder
from support.model_server import ModelServer, Reply
from support.unfinished import stored_results, unfinished_run
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX's")

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from promptls.cli.main import main
sys.exit(main(["run", sys.argv[1]]))
"""


def run_with_limit(prompt: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """Run an experiment in which no file can grow beyond `limit` bytes, as on a full disk."""
    command = [sys.executable, "-c", LIMITED.format(limit=limit), str(prompt)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_disk_that_fills_up_during_the_run_keeps_the_finished_rows(folder: Folder) -> None:
    folder.write(rows=40)
    done = run_with_limit(folder.prompt, 250_000)
    assert done.returncode == 1, done.stderr
    assert "the results cannot be written: disk I/O error" in done.stderr
    assert "free some space" in done.stderr
    journal = unfinished_run(folder.results)
    assert journal.name in done.stderr
    kept = stored_results(journal)
    assert f"the {len(kept)} finished rows" in done.stderr
    assert len(kept) > 0


def test_a_full_disk_is_reported_before_a_model_is_called(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office")
    done = run_with_limit(folder.prompt, 0)
    assert done.returncode == 1
    assert "the results cannot be written" in done.stderr
    assert server.requests == []


def test_a_folder_that_cannot_be_made_is_named(folder: Folder) -> None:
    folder.results.write_text("a file stands here", encoding="utf-8")
    done = run_with_limit(folder.prompt, resource.RLIM_INFINITY)
    assert done.returncode == 1
    assert "the results cannot be written" in done.stderr
    assert str(folder.results) in done.stderr


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_a_file_of_answers_that_another_program_locks_is_named_without_a_long_wait(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("promptls.experiments.store.OPEN_SECONDS", 0.1)
    create_run(folder.results, "first", NOW, {"models": []}).close()
    with locked(folder, mode):
        began = time.monotonic()
        with pytest.raises(
            UserError, match=r"another program has locked `\.cache/results\.sqlite`"
        ) as raised:
            create_run(folder.results, "second", NOW, {"models": []})
        assert time.monotonic() - began < 2
    assert raised.value.remedy == "close it in that program"


def test_a_run_waits_for_another_program_to_write_its_results(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.experiments.store.OPEN_SECONDS", 0.1)
    run = create_run(folder.results, "first", NOW, {"models": []})
    locking = locked(folder, "NORMAL")
    locking.__enter__()
    end = threading.Timer(0.5, locking.__exit__, (None, None, None))
    end.start()
    run.append(RowResult("r1", 1, 0, "m", 1, {}, response="fine"))
    end.join()
    run.close()
    assert [result.response for result in stored_results(run.path)] == ["fine"]


def test_a_run_on_a_locked_file_is_resumed_after_it(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.experiments.store.OPEN_SECONDS", 0.1)
    run = create_run(folder.results, "first", NOW, {"models": []})
    run.close()
    with locked(folder, "NORMAL"), pytest.raises(UserError, match=r"cannot be resumed: another") as raised:
        reopen_run(run.path)
    assert raised.value.remedy == "close it in that program"
    reopen_run(run.path).close()


@contextlib.contextmanager
def locked(folder: Folder, mode: str) -> Iterator[None]:
    """Hold a write lock on the answer cache, as another program does."""
    (file,) = (folder.results / ".cache").glob("*.sqlite")
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    with contextlib.closing(connection) as other:
        other.execute(f"PRAGMA locking_mode = {mode}")
        other.execute("BEGIN IMMEDIATE" if mode == "NORMAL" else "BEGIN EXCLUSIVE")
        yield


def test_a_folder_in_place_of_the_file_of_answers_is_named_with_the_remedy(folder: Folder) -> None:
    file = folder.results / ".cache" / "results.sqlite"
    file.mkdir(parents=True)
    with pytest.raises(UserError, match="not a regular file") as raised:
        create_run(folder.results, "first", NOW, {"models": []})
    assert str(file) in str(raised.value.place)
    assert raised.value.remedy == "move it away"


@pytest.mark.usefixtures("hold")
def test_a_killed_run_leaves_its_finished_rows_readable(folder: Folder) -> None:
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        journal = _journal_with(folder.results, 3)
        running.send_signal(signal.SIGKILL)
    finally:
        running.kill()
        running.communicate(timeout=10)
    assert sorted(result.id for result in stored_results(journal)) == ["r1", "r2", "r3"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.usefixtures("hold", "real_starts")
def test_an_interrupted_run_says_where_its_finished_rows_are(folder: Folder, name: str) -> None:
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt)]
    # In the background of a shell or under nohup, tests inherit ignored signals, and so would the run.
    number = getattr(signal, name)
    former = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGINT, number)}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for each, handler in former.items():
        signal.signal(each, handler)
    try:
        journal = _journal_with(folder.results, 3)
        running.send_signal(number)
        _, reported = running.communicate(timeout=10)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "stopped after 3 of 9 rows" in reported
    assert "promptls run --resume" in reported
    assert journal.name in reported
    assert "Traceback" not in reported


def _journal_with(results: Path, count: int) -> Path:
    wait_until(lambda: any(run.done >= count for run in unfinished_runs(results)))
    return unfinished_run(results)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_run_continues_when_a_full_disk_has_space_again(small_disk: Path, server: ModelServer) -> None:
    folder = Folder(small_disk).serve(server).write(model="office", rows=30)
    server.reply = lambda body: Reply(f"to {body['messages'][-1]['content']}")
    ballast = small_disk / "ballast"
    with ballast.open("wb") as stream, contextlib.suppress(OSError):
        # All but some blocks: enough to begin, too little to end.
        stream.write(b"x" * (free_bytes(small_disk) - 120 * 1024))
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt)]
    taken = 0
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    while done.returncode == 0 and taken < 20:
        # It was enough this time: the next run finds less.
        with (small_disk / f"more{taken}").open("wb") as stream, contextlib.suppress(OSError):
            stream.write(b"x" * (free_bytes(small_disk) - 12 * 1024))
        taken += 1
        done = subprocess.run([*command, "--fresh"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "the results cannot be written: no space left on device" in done.stderr
    assert "--resume" in done.stderr
    journal = unfinished_run(folder.results)
    kept = len(list(stored_results(journal)))
    before = len(server.requests)
    for path in [ballast, *small_disk.glob("more*")]:
        path.unlink()
    again = [sys.executable, "-m", "promptls", "run", "--resume", str(journal), "--fresh"]
    done = subprocess.run(again, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == before + 30 - kept
    latest = max(folder.results.glob("*.csv"), key=lambda path: path.stat().st_mtime_ns)
    with latest.open(encoding="utf-8", newline="") as stream:
        assert [row["response"] for row in csv.DictReader(stream)] == [
            f"to text {number}" for number in range(1, 31)
        ]


def free_bytes(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize
