from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from promptls.experiments import history
from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.named_runs import known_runs
from promptls.experiments.store import FILE, FOLDER
from support.experiment_folder import Folder
from support.model_server import ModelServer, Reply


async def test_runs_are_listed_with_their_scores_the_newest_first(folder: Folder) -> None:
    first = await folder.ask()
    second = await folder.ask(rows="2")
    runs = known_runs(folder.results)
    assert [run.name for run in runs] == [second.manifest["run"], first.manifest["run"]]
    latest = runs[0]
    assert (latest.status, latest.rows, latest.done, latest.rows_chosen) == ("finished", 2, 2, "2")
    assert latest.scores["right"] == "50 %"
    assert latest.prompt == folder.prompt
    assert str(latest.path) == second.results


def test_asking_for_the_runs_of_a_folder_without_any_creates_nothing(tmp_path: Path) -> None:
    assert known_runs(tmp_path / "experiments") == []
    assert list(tmp_path.iterdir()) == []


async def test_a_run_that_stopped_is_in_the_list_with_how_far_it_came(
    folder: Folder, server: ModelServer
) -> None:
    folder.serve(server).write(model="office", rows=9)
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=4)
    (run,) = known_runs(folder.results)
    assert (run.status, run.done, run.rows) == ("stopped", 4, 9)
    await folder.ask(resume=str(run.path))
    assert [(run.status, run.done) for run in known_runs(folder.results)] == [("finished", 9)]


async def test_a_run_that_is_going_on_says_so(folder: Folder, server: ModelServer) -> None:
    import asyncio

    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    folder.serve(server).write(model="office")
    running = asyncio.create_task(folder.ask())
    await asyncio.to_thread(server.received.wait, 10)
    (run,) = known_runs(folder.results)
    release.set()
    await running
    assert (run.status, run.done) == ("running", 0)


async def test_runs_are_found_by_the_text_of_the_prompt(folder: Folder) -> None:
    text = folder.prompt.read_text("utf-8")
    first = await folder.ask()
    folder.prompt.write_text(text.replace("{{ escape", "Hm. {{ escape"), "utf-8")
    await folder.ask()
    folder.prompt.rename(folder.path / "other.yml.j2")
    (found,) = known_runs(folder.results, same_text=text)
    assert found.name == first.manifest["run"]
    assert known_runs(folder.results, same_text="none") == []


async def test_only_what_is_new_is_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = await folder.ask()
    manifest = Path(finished.manifest_path)
    for index in range(200):
        name = f"20200101-{index:06}-ask"
        shutil.copy(manifest, folder.results / f"{name}.json")
    assert len(known_runs(folder.results)) == 201
    read: list[Path] = []
    content = history.manifest_of
    monkeypatch.setattr(history, "manifest_of", lambda path: read.append(path) or content(path))
    assert len(known_runs(folder.results, limit=5)) == 5
    assert read == []
    (folder.results / "20200101-000007-ask.json").unlink()
    await folder.ask()
    assert len(known_runs(folder.results)) == 201
    assert len(read) == 1


async def test_a_broken_manifest_and_a_broken_store_are_passed_over(folder: Folder) -> None:
    await folder.ask()
    (folder.results / "20200101-000000-ask.json").write_text("{", "utf-8")
    (folder.results / "20200101-000001-ask.json").write_text(json.dumps({"run": 1}), "utf-8")
    assert len(known_runs(folder.results)) == 1
    (folder.results / FOLDER / FILE).write_bytes(b"no database" * 500)
    assert len(known_runs(folder.results)) == 1


async def test_a_list_of_runs_in_the_store_of_an_earlier_version_is_removed(folder: Folder) -> None:
    await folder.ask()
    with closing(sqlite3.connect(folder.results / FOLDER / FILE)) as store:
        store.execute("CREATE TABLE finished (file TEXT PRIMARY KEY, known TEXT)")
    await folder.ask()
    assert len(known_runs(folder.results)) == 2


def test_a_folder_without_runs_has_none(tmp_path: Path) -> None:
    assert known_runs(tmp_path / "experiments") == []
