"""Journals, caches and copies are readable by the user alone, and links do not redirect them."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.answer_cache import AnswerCache
from promptls.experiments.store import FILE, FOLDER, LOCK_SUFFIX
from promptls.security.written_files import (
    TEMPORARY_PREFIX,
    ensure_private_file,
    make_private_folder,
    open_private,
    remove_old_files,
    remove_old_temporaries,
    replace_file,
)
from support.experiment_folder import Folder
from support.model_server import model_server
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders of the user are private there")


@pytest.fixture(autouse=True)
def _open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def private_files(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in folder.rglob("*") if path.is_file()}


async def test_a_run_publishes_its_table_and_keeps_its_cache_private(tmp_path: Path) -> None:
    folder = Folder(tmp_path).write(model="office", metrics="metrics.py:length")
    during: dict[str, int] = {}

    def look(_event: object) -> None:
        during.update(private_files(folder.results))

    with model_server() as server:
        finished = await folder.serve(server).ask(look)
    cache = folder.results / FOLDER
    assert mode(cache) == 0o700
    assert {name: each for name, each in private_files(cache).items() if each != 0o600} == {}
    assert {each for name, each in during.items() if name.endswith(LOCK_SUFFIX)} == {0o600}
    assert f"{FILE}-wal" in during
    assert {each for name, each in during.items() if name.startswith(FILE)} == {0o600}
    assert mode(Path(finished.results)) == 0o666
    assert mode(Path(finished.manifest_path)) == 0o666


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", ".gitignore"])
def test_a_dangling_link_in_the_cache_is_not_followed(tmp_path: Path, name: str) -> None:
    cache, outside = tmp_path / FOLDER, tmp_path / "outside"
    cache.mkdir()
    (cache / name).symlink_to(outside)
    with contextlib.suppress(OSError):
        AnswerCache(tmp_path).close()
    with pytest.raises(OSError):  # noqa: PT011 - the system says which
        ensure_private_file(cache / name)
    assert not outside.exists()


def test_a_private_file_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("before", "utf-8")
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(OSError):  # noqa: PT011 - the system says which
            open_private(path, "w")
        with pytest.raises(OSError):  # noqa: PT011 - as above
            ensure_private_file(path)
    assert target.read_text("utf-8") == "before"


def test_a_file_that_is_there_is_not_opened_to_make_sure_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ensure_private_file(path)
    first = sqlite3.connect(path, timeout=0, isolation_level=None)
    first.execute("BEGIN EXCLUSIVE")
    ensure_private_file(path)
    errors: list[str] = []

    def other_process() -> None:
        text = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('CREATE TABLE t (a)')"
        ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        errors.append(ended.stderr)

    thread = threading.Thread(target=other_process)
    thread.start()
    thread.join()
    assert "locked" in errors[0]
    first.close()


def test_what_is_private_replaces_a_file_as_such(tmp_path: Path) -> None:
    for is_private, expected in ((True, 0o600), (False, 0o666)):
        with replace_file(tmp_path / "a", is_private=is_private) as stream:
            stream.write("a")
        assert mode(tmp_path / "a") == expected


def test_old_files_are_removed_and_others_stay(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "shown" / "a")
    make_private_folder(tmp_path / "shown" / "b")
    old, new, outside = tmp_path / "shown/a/old.md", tmp_path / "shown/b/new.md", tmp_path / "outside"
    for path in (old, new, outside):
        path.write_text("x", "utf-8")
    long_ago = time.time() - 8 * 86400
    for path in (old, outside):
        os.utime(path, (long_ago, long_ago))
    (tmp_path / "shown" / "b" / "link").symlink_to(tmp_path)
    remove_old_files(tmp_path / "shown")
    assert not old.parent.exists()
    assert new.exists()
    assert outside.exists()


def test_a_text_that_the_server_shows_is_private_and_gone_with_it(tmp_path: Path) -> None:
    caches, project = tmp_path / "caches", tmp_path / "project"
    old = caches / "shown" / "a" / "old.preview.md"
    old.parent.mkdir(parents=True)
    old.write_text("x", "utf-8")
    long_ago = time.time() - 8 * 86400
    os.utime(old, (long_ago, long_ago))
    project.mkdir()
    prompt = project / "a.yml.j2"
    prompt.write_text("- {name: a, role: user, content: hello}\n", "utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "promptls", "server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PROMPTLS_CACHE_DIR": str(caches)},
    ) as server:
        trusted = {"initializationOptions": {"trusted": True}}
        beginning = {"processId": None, "rootUri": project.as_uri(), "capabilities": {}, **trusted}
        ask(server, "initialize", beginning)
        notify(server, "initialized", {})
        preview = {"command": "promptls.preview", "arguments": [{"uri": prompt.as_uri()}]}
        shown = ask(server, "workspace/executeCommand", preview)
        document = Path(shown["document"])
        assert "hello" in document.read_text("utf-8")
        assert (mode(document), mode(document.parent)) == (0o600, 0o700)
        wait_until(lambda: not old.exists())
        ask(server, "shutdown", None)
        notify(server, "exit", None)
        assert server.wait(60) == 0
    assert not document.exists()


def notify(server: subprocess.Popen[bytes], method: str, params: object, **more: object) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    assert server.stdin is not None
    server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    server.stdin.flush()


def ask(server: subprocess.Popen[bytes], method: str, params: object) -> Any:
    notify(server, method, params, id=method)
    assert server.stdout is not None
    while True:
        length = 0
        while line := server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message = json.loads(server.stdout.read(length))
        if message.get("id") == method:
            return message["result"]


def test_old_temporary_folders_of_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    old, new, other = (
        tmp_path / name for name in (f"{TEMPORARY_PREFIX}old", f"{TEMPORARY_PREFIX}new", "other")
    )
    long_ago = time.time() - 8 * 86400
    for path in (old, new, other):
        path.mkdir()
        (path / "rows.csv").write_text("x", "utf-8")
    for path in (old, other):
        os.utime(path, (long_ago, long_ago))
    remove_old_temporaries()
    assert [path.exists() for path in (old, new, other)] == [False, True, True]
