from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.run_protocol import Event, RowFinished
from promptls.results_view.running_runs import UnfinishedRuns, WatchedRun, running_answer
from support.experiment_folder import Folder
from support.unfinished import unfinished_run


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path).write(settings="concurrency: 1", rows=6)


async def test_a_run_is_watched_until_it_ends(folder: Folder) -> None:
    seconds = iter(range(1000))
    runs = UnfinishedRuns(folder.results, lambda: float(next(seconds)))
    seen: list[WatchedRun] = []

    def look(event: Event) -> None:
        if isinstance(event, RowFinished):
            seen.extend(runs.look())

    assert runs.look() == []
    await folder.run(look)
    assert [(each.experiment, each.total) for each in seen] == [("main", 6)] * len(seen)
    dones = [each.done for each in seen]
    assert dones == sorted(dones)
    assert dones[0] >= 1
    assert seen[0].rate is None
    assert all(each.left == pytest.approx((6 - each.done) / each.rate) for each in seen if each.rate)
    assert runs.look() == []


async def test_a_run_that_was_broken_off_does_not_go_on(folder: Folder) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, RowFinished):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await folder.run(stop)
    assert unfinished_run(folder.results)
    assert UnfinishedRuns(folder.results).look() == []


async def test_watchers_are_notified_of_runs_by_others(folder: Folder) -> None:
    reported: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []

    def look(event: Event) -> None:
        if isinstance(event, RowFinished):
            reported.append(running_answer({"path": str(folder.prompt)}))
            own = [run["id"] for run in reported[-1]["runs"]]
            others.extend(running_answer({"path": str(folder.prompt), "own": own})["runs"])

    await folder.run(look)
    assert {answer["folder"] for answer in reported} == {str(folder.results)}
    assert [(run["experiment"], run["canCancel"]) for run in reported[0]["runs"]] == [("main", False)]
    assert others == []
    (table,) = folder.results.glob("*.csv")
    assert running_answer({"run": str(table)}) == {"folder": str(folder.results), "runs": []}
