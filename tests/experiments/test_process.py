from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from promptls.experiments.client import plan_in_process, run_in_process
from promptls.experiments.run_protocol import (
    Event,
    Finished,
    Planned,
    RowFinished,
    RunRequest,
    Started,
    Stopped,
)
from promptls.text.errors import UserError
from support.experiment_folder import Folder
from support.model_server import ModelServer
from support.unfinished import stored_results


@pytest.mark.usefixtures("real_starts")
async def test_a_run_in_a_process_ends_with_its_manifest(folder: Folder) -> None:
    events: list[Event] = []
    finished = await run_in_process(RunRequest(str(folder.prompt), rows=3), events.append)
    assert isinstance(finished, Finished)
    assert finished.manifest["totals"]["results"] == 3
    assert Path(finished.results).is_file()
    assert [type(event) for event in events] == [Planned, Started, *[RowFinished] * 3, Finished]


async def test_a_run_in_a_process_leaves_no_locks_and_claims(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office")
    await run_in_process(RunRequest(str(folder.prompt)), lambda _event: None)
    await plan_in_process(RunRequest(str(folder.prompt), only_plan=True))
    assert server.requests
    assert list(folder.results.rglob("*.lock")) == []


async def test_unsaved_text_is_what_is_run(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8").replace("main:", "edited:")
    request = RunRequest(str(folder.prompt), unsaved={str(folder.prompt): text})
    assert (await run_in_process(request, lambda _event: None)).manifest["experiment"] == "edited"


async def test_what_a_metric_prints_does_not_break_the_events(folder: Folder) -> None:
    function = "def loud(response):\n    print('x' * 9000)\n    os.write(1, b'raw')\n    return 1\n"
    code = f"import os\nprint('loaded')\n{function}"
    folder.write(metrics="loud.py:loud")
    (folder.path / "loud.py").write_text(code, encoding="utf-8")
    finished = await run_in_process(RunRequest(str(folder.prompt)), lambda _event: None)
    assert finished.manifest["metrics"][0]["value"] == 1


async def test_a_metric_reads_files_beside_it(folder: Folder) -> None:
    folder.write(metrics="reader.py:score")
    (folder.path / "reader.py").write_text(
        "def score(response):\n    return len(open('number.txt').read())\n", encoding="utf-8"
    )
    (folder.path / "number.txt").write_text("123", encoding="utf-8")
    finished = await run_in_process(RunRequest(str(folder.prompt)), lambda _event: None)
    assert finished.manifest["metrics"][0]["value"] == 3


async def test_a_failure_comes_with_place_and_remedy(folder: Folder) -> None:
    (folder.path / "rows.csv").unlink()
    with pytest.raises(UserError, match="the dataset does not exist") as failure:
        await run_in_process(RunRequest(str(folder.prompt)), lambda _event: None)
    assert failure.value.place.path == str(folder.path / "rows.csv")
    assert failure.value.remedy


async def paused_run(folder: Folder) -> tuple[asyncio.Task[Finished], list[Event]]:
    """Return a run that has finished three rows and waits for the fourth, with its events."""
    events: list[Event] = []
    three_done = asyncio.Event()

    def notify(event: Event) -> None:
        events.append(event)
        if isinstance(event, RowFinished) and event.done == 3:
            three_done.set()

    running = asyncio.create_task(run_in_process(RunRequest(str(folder.prompt)), notify))
    await asyncio.wait_for(three_done.wait(), 20)
    return running, events


@pytest.mark.usefixtures("hold", "real_starts")
async def test_a_cancelled_run_stops_within_a_second_and_reports_where_its_rows_are(folder: Folder) -> None:
    running, events = await paused_run(folder)
    loop = asyncio.get_running_loop()
    began = loop.time()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert loop.time() - began < 1.5
    assert isinstance(events[-1], Stopped)
    assert len(list(stored_results(Path(events[-1].path)))) == 3


@pytest.mark.usefixtures("hold", "real_starts")
async def test_a_run_whose_process_dies_fails_with_the_place_of_its_rows(folder: Folder) -> None:
    running, events = await paused_run(folder)
    os.kill(_only_child_named("promptls.experiments.process"), signal.SIGKILL)
    with pytest.raises(UserError, match=r"ended unexpectedly \(signal 9\)") as failure:
        await running
    assert failure.value.place.path == events[1].path
    assert len(list(stored_results(Path(events[1].path)))) == 3


def _only_child_named(module: str) -> int:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    (child,) = (
        int(child)
        for child in children
        if module in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8")
    )
    return child
