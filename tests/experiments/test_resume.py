from __future__ import annotations

import csv
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from promptls.experiments.answer_cache import CallInFlight, calls_without_answer
from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.named_runs import known_runs
from promptls.experiments.unfinished import read_header, reopen_run, unfinished_runs
from promptls.text.errors import UsageError, UserError
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.unfinished import stored_results, unfinished_run
from support.waiting import wait_until


def run_of(folder: Folder) -> Path:
    return unfinished_run(folder.results)


def calls_in_doubt(path: Path) -> tuple[CallInFlight, ...]:
    """Return the calls that a resumed run reports as possibly paid."""
    run = reopen_run(path)
    try:
        return calls_without_answer(run.calls_in_flight, path.parent)
    finally:
        run.close()


async def broken_off(folder: Folder, server: ModelServer, calls: int = 3) -> Path:
    """Return a run of nine rows that was stopped after this number of calls."""
    folder.serve(server).write(model="office", rows=9, settings="concurrency: 2")
    server.reply = lambda body: Reply(f"to {last_text(body)}")
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=calls, fresh=True)
    return run_of(folder)


async def test_a_resumed_run_continues_without_repeating_requests(
    folder: Folder, server: ModelServer
) -> None:
    run = await broken_off(folder, server)
    finished = await folder.ask(resume=str(run), fresh=True)
    assert [row["response"] for row in table(finished)] == [f"to text {number}" for number in range(1, 10)]
    assert max(Counter(map(last_text, server.requests)).values()) == 1
    assert Path(finished.results).name == f"{run.name}.csv"
    assert unfinished_runs(folder.results) == []
    assert finished.manifest["totals"]["results"] == 9


async def test_a_resumed_run_reports_how_many_rows_are_finished(folder: Folder, server: ModelServer) -> None:
    run = await broken_off(folder, server)
    for fresh in (True, False):
        planned = await folder.plan(resume=str(run), fresh=fresh)
        assert (planned.rows, planned.calls, planned.cached) == (9, 6, 0)


async def test_a_fresh_run_stays_fresh_when_it_is_resumed(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=9, settings="concurrency: 1")
    server.reply = lambda _body: Reply("old")
    await folder.ask()
    server.reply = lambda _body: Reply("new")
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=3, fresh=True)
    planned = await folder.plan(resume=str(run_of(folder)))
    assert (planned.calls, planned.cached) == (6, 0)
    finished = await folder.ask(resume=str(run_of(folder)))
    assert {row["response"] for row in table(finished)} == {"new"}
    assert len(server.requests) == 9 + 9


async def test_a_resumed_run_repeats_failed_rows(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=6, settings="concurrency: 1")
    server.reply = lambda body: Reply(status=400, raw=b"{}") if last_text(body) == "text 2" else Reply("fine")
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=3)
    server.reply = lambda _body: Reply("fine")
    finished = await folder.ask(resume=str(run_of(folder)))
    assert [row["error"] for row in table(finished)] == [""] * 6


@pytest.mark.parametrize("change", ["prompt", "dataset"])
async def test_a_run_whose_prompt_or_data_changed_is_not_mixed_with_another(
    folder: Folder, server: ModelServer, change: str
) -> None:
    run = await broken_off(folder, server)
    path = folder.prompt if change == "prompt" else folder.path / "rows.csv"
    path.write_text(
        path.read_text("utf-8").replace("text 5", "texts 5").replace("{{ esc", "x {{ esc"), "utf-8"
    )
    with pytest.raises(UsageError, match=f"the {change} changed after this run began") as failure:
        await folder.ask(resume=str(run))
    assert "cache" in failure.value.remedy
    assert run_of(folder) == run


@pytest.mark.usefixtures("real_starts")
async def test_a_run_that_is_going_on_cannot_be_taken_over(folder: Folder, server: ModelServer) -> None:
    run = await broken_off(folder, server)
    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    going_on = subprocess.Popen(  # noqa: ASYNC220 - it must run beside this test
        [sys.executable, "-m", "promptls", "run", "--resume", str(run), "--fresh"],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: len(server.requests) > 3)
        assert [run.is_running for run in unfinished_runs(folder.results)] == [True]
        with pytest.raises(UsageError, match="active in another process"):
            await folder.ask(resume=str(run))
    finally:
        going_on.kill()
        going_on.wait()
        release.set()
    assert [run.is_running for run in unfinished_runs(folder.results)] == [False]


async def test_only_the_rows_that_failed_are_asked_again(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=6)
    server.reply = lambda body: (
        Reply(status=400, raw=b"{}") if last_text(body) in {"text 2", "text 5"} else Reply("fine")
    )
    first = await folder.ask(fresh=True)
    server.reply = lambda _body: Reply("repaired")
    second = await folder.ask(retry_errors=first.results, fresh=True)
    assert [row["response"] for row in table(second)] == ["fine", "repaired"] + ["fine"] * 2 + [
        "repaired",
        "fine",
    ]
    assert len(server.requests) == 6 + 2
    assert second.manifest["continues"] == first.manifest["run"]
    right = second.manifest["metrics"][0]
    assert (right["scored"], right["unscored"]) == (6, 0)
    with pytest.raises(UsageError, match=r"no row of .* failed"):
        await folder.ask(retry_errors=second.results)


async def test_damaged_results_and_calls_are_asked_again(folder: Folder, server: ModelServer) -> None:
    run = await broken_off(folder, server)
    with sqlite3.connect(run.parent / ".cache" / "results.sqlite") as store:
        store.execute("UPDATE results SET result = x'7B80' WHERE id = (SELECT min(id) FROM results)")
        store.execute("""UPDATE calls SET call = replace(call, substr(call, -8, 1), 'z')""")
    store.close()
    server.reply = lambda _body: Reply("again")
    finished = await folder.ask(resume=str(run), fresh=True)
    assert [bool(row["response"]) for row in table(finished)] == [True] * 9


async def test_a_damaged_run_is_named(folder: Folder, server: ModelServer) -> None:
    run = await broken_off(folder, server)
    with sqlite3.connect(run.parent / ".cache" / "results.sqlite") as store:
        store.execute("UPDATE runs SET header = x'80'")
    store.close()
    with pytest.raises(UsageError, match="damaged") as failure:
        await folder.ask(resume=str(run))
    assert failure.value.remedy
    assert known_runs(folder.results) == []


async def test_a_partial_run_is_completed(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=6)
    server.reply = lambda _body: Reply("first")
    partial = await folder.ask(rows="2,5", fresh=True)
    server.reply = lambda _body: Reply("later")
    complete = await folder.ask(retry_errors=partial.results, complete=True, fresh=True)
    assert [row["response"] for row in table(complete)] == [
        "first" if number in {2, 5} else "later" for number in range(1, 7)
    ]
    assert len(server.requests) == 6
    assert (complete.manifest["continues"], complete.manifest["dataset"]["rows"]) == (
        partial.manifest["run"],
        None,
    )
    with pytest.raises(UsageError, match="already has all rows"):
        await folder.ask(retry_errors=complete.results, complete=True)


@pytest.mark.usefixtures("real_starts")
def test_repeatedly_killed_runs_neither_lose_nor_repeat_rows(folder: Folder, server: ModelServer) -> None:
    """The run is killed at random moments; a complete answer is never requested again."""
    rows, at_once = 24, 4
    server.reply = lambda body: Reply(f"to {last_text(body)}", pause=0.01)
    folder.serve(server).write(model="office", rows=rows, settings=f"concurrency: {at_once}")
    chance = random.Random(7)
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt)]
    kills = 0
    doubted: Counter[str] = Counter()
    for _ in range(40):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        enough = len(server.requests) + chance.randrange(4, 12)
        wait_until(lambda enough=enough, run=run: len(server.requests) >= enough or run.poll() is not None)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        _, said = run.communicate()
        assert run.returncode in {0, -signal.SIGKILL}, said
        left = unfinished_runs(folder.results)
        # A run may also be killed between its last file and its end.
        if not left and list(folder.results.glob("*.json")):
            break
        if left:
            command = [sys.executable, "-m", "promptls", "run", "--resume", str(left[0].path)]
            in_flight = calls_in_doubt(left[0].path)
            assert len({call.number for call in in_flight}) <= at_once
            doubted |= Counter(f"text {call.number}" for call in in_flight)
    assert kills >= 2
    (results,) = folder.results.glob("*.csv")
    with results.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["response"] for line in lines] == [f"to text {number}" for number in range(1, rows + 1)]
    # Only what was on its way when the process died was asked for a second time, and it was said.
    counts = Counter(map(last_text, server.requests))
    assert {text: count - 1 for text, count in counts.items() if count - 1 > doubted[text]} == {}
    assert sorted(path.name for path in folder.results.iterdir()) == [
        ".cache",
        results.name,
        results.with_suffix(".json").name,
    ]


async def test_a_run_killed_between_its_files_ends_by_going_on(
    folder: Folder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptls.experiments import resumable_job

    folder.serve(server).write(model="office")
    with monkeypatch.context() as patched:
        patched.setattr(
            resumable_job, "write_manifest", lambda *_words: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            await folder.ask()
    run = run_of(folder)
    (folder.results / f".{run.name}.csv-half").write_text("half", "utf-8")
    finished = await folder.ask(resume=str(run))
    assert len(server.requests) == 4
    assert len(table(finished)) == 4
    assert not list(folder.results.glob(".*-half"))


async def test_a_provider_that_goes_away_stops_the_run_and_lets_it_go_on(
    folder: Folder, server: ModelServer
) -> None:
    rows = 130
    server.reply = lambda body: (
        Reply("ok") if int(last_text(body).split()[1]) <= 20 else Reply(status=403, raw=b"{}")
    )
    folder.serve(server).write(model="office", rows=rows, metrics="metrics.py:length")
    with pytest.raises(UserError, match="none of the last 50 rows") as failure:
        await folder.ask()
    assert "--resume" in failure.value.remedy
    server.reply = lambda _body: Reply("ok")
    finished = await folder.ask(resume=str(run_of(folder)))
    assert finished.manifest["totals"]["failed"] == 0
    assert len(table(finished)) == rows


async def test_the_results_of_a_stopped_run_are_readable(folder: Folder, server: ModelServer) -> None:
    run = await broken_off(folder, server)
    header = read_header(run)
    assert header["experiment"] == "main"
    assert sorted(result.id for result in stored_results(run)) == ["r1", "r2", "r3"]


@pytest.mark.usefixtures("real_starts")
def test_two_processes_killed_at_random_on_one_folder_pay_for_no_finished_call_twice(
    folder: Folder, server: ModelServer
) -> None:
    rows, at_once = 15, 3
    server.reply = lambda body: Reply(f"to {last_text(body)}", pause=0.02)
    folder.serve(server).write(model="office", rows=rows, settings=f"concurrency: {at_once}")
    chance = random.Random(11)
    promptls = [sys.executable, "-m", "promptls", "run"]
    commands = [[*promptls, str(folder.prompt)]] * 2
    doubted: Counter[str] = Counter()
    for _ in range(20):
        processes = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for command in commands
        ]
        enough = len(server.requests) + chance.randrange(4, 10)
        wait_until(
            lambda enough=enough, processes=processes: (
                len(server.requests) >= enough or all(each.poll() is not None for each in processes)
            )
        )
        for process in processes:
            process.kill()
            process.wait()
        left = [run.path for run in unfinished_runs(folder.results)]
        for path in left:
            doubted += Counter({f"text {call.number}" for call in calls_in_doubt(path)})
        ended = len(list(folder.results.glob("*.json")))
        if ended == 2:
            break
        # A process may have been killed before it had a run.
        commands = [[*promptls, "--resume", str(path)] for path in left]
        commands += [[*promptls, str(folder.prompt)]] * (2 - ended - len(left))
    for results in folder.results.glob("*.csv"):
        with results.open(encoding="utf-8", newline="") as stream:
            responses = [line["response"] for line in csv.DictReader(stream)]
        assert responses == [f"to text {number}" for number in range(1, rows + 1)]
    assert unfinished_runs(folder.results) == []
    counts = Counter(map(last_text, server.requests))
    assert {text: count - 1 for text, count in counts.items() if count - 1 > doubted[text]} == {}
