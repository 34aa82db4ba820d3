"""Calls in flight when a run is killed may have been paid for: a resumed run names them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.experiments.store import Store, sync_periodically
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.unfinished import unfinished_run
from support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("real_starts")

SLOW_METRIC = """
import pathlib, time
from promptls import discrete_metric

@discrete_metric(name="right", allowed_values=["yes", "no"])
def right(response):
    pathlib.Path(__file__).with_name("scoring").touch()
    while not pathlib.Path(__file__).with_name("go").exists():
        time.sleep(0.01)
    return "yes"
"""


def killed(folder: Folder, is_time: Callable[[], bool], *more: str) -> Path:
    """Return the journal of a run that was killed at the right moment."""
    run = subprocess.Popen(
        [sys.executable, "-m", "promptls", "run", str(folder.prompt), *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: is_time() or run.poll() is not None)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    return unfinished_run(folder.results)


@pytest.fixture
def release(folder: Folder, server: ModelServer) -> threading.Event:
    """Release the answers that the server delays, except for the first text's."""
    folder.serve(server, input_price=1, output_price=2)
    folder.write(model="office", rows=6, settings="concurrency: 3")
    event = threading.Event()
    server.reply = lambda body: Reply(
        f"to {last_text(body)}", wait=None if last_text(body) == "text 1" else event
    )
    return event


async def test_a_resumed_run_lists_the_calls_that_may_have_been_paid_for(
    folder: Folder, server: ModelServer, release: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = killed(folder, lambda: len(server.requests) == 4)
    release.set()
    planned = await folder.plan(resume=str(journal))
    assert planned.calls == 5
    assert planned.in_flight is not None
    assert planned.in_flight.startswith(
        "3 calls were in flight when the run was interrupted, and may have been paid for, about $"
    )
    assert planned.in_flight.endswith(
        ": rows 2 (id r2), 3 (id r3), 4 (id r4); they are made again (`--skip-in-flight` leaves them out)"
    )
    finished = await folder.ask(resume=str(journal))
    assert [row["response"] for row in table(finished)] == [f"to text {number}" for number in range(1, 7)]
    twice = {text for text, count in Counter(map(last_text, server.requests)).items() if count == 2}
    assert twice == {"text 2", "text 3", "text 4"}
    assert main(["run", "--skip-in-flight", str(folder.prompt)]) == 2
    assert "`--skip-in-flight` is for an unfinished run" in capsys.readouterr().err


async def test_such_calls_are_left_out_when_asked_for_and_can_be_made_later(
    folder: Folder, server: ModelServer, release: threading.Event
) -> None:
    journal = killed(folder, lambda: len(server.requests) == 4)
    release.set()
    planned = await folder.plan(resume=str(journal), skip_in_flight=True)
    assert planned.calls == 2
    assert planned.in_flight is not None
    assert planned.in_flight.endswith("they are left out")
    finished = await folder.ask(resume=str(journal), skip_in_flight=True)
    errors = [row["error"] for row in table(finished)]
    assert [bool(error) for error in errors] == [False, True, True, True, False, False]
    assert "may have been paid for; it was not made again" in errors[1]
    assert set(Counter(map(last_text, server.requests)).values()) == {1}
    again = await folder.ask(retry_errors=finished.results)
    assert [row["error"] for row in table(again)] == [""] * 6


async def test_a_cached_answer_of_an_unfinished_row_is_not_in_doubt(
    folder: Folder, server: ModelServer
) -> None:
    folder.serve(server).write(model="office", metrics="metrics.py:right", settings="concurrency: 1")
    (folder.path / "metrics.py").write_text(SLOW_METRIC, encoding="utf-8")
    journal = killed(folder, (folder.path / "scoring").exists)
    (folder.path / "go").touch()
    assert (await folder.plan(resume=str(journal))).in_flight is None
    await folder.ask(resume=str(journal))
    assert len(server.requests) == 4


async def test_a_judges_call_is_one_of_them(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", metrics="polite", rows=2, settings="concurrency: 1")
    with (folder.path / "promptls.toml").open("a", encoding="utf-8") as stream:
        stream.write('\n[metrics.polite]\nuse = "aspect_critic"\nmodel = "office"\ndefinition = "Polite?"\n')
    event = threading.Event()
    server.reply = lambda _body: Reply(
        '{"reason": "so it is", "verdict": true}', wait=event if len(server.requests) == 2 else None
    )
    journal = killed(folder, lambda: len(server.requests) == 2)
    event.set()
    planned = await folder.plan(resume=str(journal))
    assert planned.in_flight is not None
    assert planned.in_flight.startswith("1 call was in flight")
    assert "row 1 (id r1); it is made again" in planned.in_flight
    await folder.ask(resume=str(journal))
    assert len(server.requests) == 2 * 2 + 1


PYTHON = """
import asyncio, pathlib
from promptls import Dataset, experiment

@experiment()
async def triage(row, prompt_file):
    if row["id"] != 1 and not pathlib.Path(__file__).with_name("go").exists():
        pathlib.Path(__file__).with_name(f"asked{row['id']}").touch()
        await asyncio.sleep(60)
    return {"id": row["id"], "response": "fine"}

def load_dataset():
    return Dataset("tickets", data=[{"id": number} for number in range(1, 5)])
"""


@pytest.mark.parametrize("leave", [False, True], ids=["made again", "left"])
def test_calls_of_a_function_are_named_as_well(
    folder: Folder, capsys: pytest.CaptureFixture[str], leave: bool
) -> None:
    (folder.path / "evals.py").write_text(PYTHON, encoding="utf-8")
    more = ["--experiment", "evals.py:triage", "--concurrency", "2"]
    journal = killed(folder, lambda: len(list(folder.path.glob("asked*"))) == 2, *more)
    (folder.path / "go").touch()
    code = main(["run", "--resume", str(journal), *(["--skip-in-flight"] if leave else [])])
    said = capsys.readouterr().out
    assert "2 calls were in flight" in said
    assert "rows 2 (id 2), 3 (id 3); they are" in said
    assert f"{1 if leave else 3} call" in said
    (results,) = folder.results.glob("*.csv")
    lines = results.read_text("utf-8").splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["1", "2", "3", "4"]
    assert (code, sum("not made again" in line for line in lines)) == ((1, 2) if leave else (0, 0))


async def test_results_are_flushed_to_disk_during_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = asyncio.Event()
    calls: list[int] = []
    loop = asyncio.get_running_loop()

    def sync() -> None:
        calls.append(1)
        if len(calls) > 2:
            loop.call_soon_threadsafe(several.set)

    store = Store(tmp_path)
    monkeypatch.setattr(store, "sync", sync)
    async with sync_periodically(store, every=0.0):
        await several.wait()
    count = len(calls)
    await asyncio.sleep(0)
    assert len(calls) == count
