from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.history import read_run
from promptls.experiments.plan import plan_run
from promptls.experiments.prompt_runner import run_plan
from promptls.experiments.run_protocol import (
    Event,
    Finished,
    RowFinished,
    Started,
    Stopped,
    from_json,
    to_json,
)
from promptls.experiments.unfinished import create_run
from promptls.text.errors import UserError
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.unfinished import stored_results

KEY = "planted-0123456789abcdef"


async def test_the_table_has_a_line_for_each_row_with_response_scores_and_reasons(folder: Folder) -> None:
    rows = table(await folder.run())
    assert [row["id"] for row in rows] == ["r1", "r2", "r3", "r4"]
    assert rows[1] | {"seconds": "", "rendered_hash": ""} == {
        "id": "r2",
        "text": "text 2",
        "answer": "text other",
        "response": "text 2",
        "right": "no",
        "right_reason": "expected text other",
        "length": "6",
        "length_reason": "",
        "error": "",
        "problem": "",
        "answer_note": "",
        "input_tokens": "0",
        "output_tokens": "0",
        "cached_input_tokens": "",
        "reasoning_tokens": "",
        "seconds": "",
        "cost": "",
        "cached": "",
        "finish_reason": "stop",
        "model": "echo",
        "repeat": "1",
        "row_number": "2",
        "rendered_hash": "",
        "experiment_name": "main",
    }


async def test_the_manifest_says_what_was_run_and_what_it_came_to(folder: Folder) -> None:
    finished = await folder.run()
    manifest = json.loads(Path(finished.manifest_path).read_text(encoding="utf-8"))
    assert manifest == finished.manifest
    assert manifest["prompt"] == "../ask.yml.j2"
    assert manifest["totals"] == {
        "results": 4,
        "failed": 0,
        "invalid": 0,
        "cached": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": None,
        "paid": None,
    }
    scores = {metric["name"]: (metric["value"], metric["scored"]) for metric in manifest["metrics"]}
    assert scores == {"right": (0.5, 4), "length": (6.0, 4)}
    assert Path(finished.results).name == f"{manifest['run']}.csv"
    assert manifest["run"].endswith("-ask")


async def test_nothing_but_table_and_manifest_is_left(folder: Folder) -> None:
    finished = await folder.run()
    left = sorted(path.name for path in folder.results.iterdir())
    assert left == [".cache", Path(finished.results).name, Path(finished.manifest_path).name]


async def test_rows_are_in_dataset_order_regardless_of_answer_order(
    folder: Folder, server: ModelServer
) -> None:
    slow = threading.Event()

    def reply(body: dict[str, Any]) -> Reply:
        if last_text(body) == "text 1":
            return Reply("late", wait=slow)
        if last_text(body) == "text 6":
            slow.set()
        return Reply(last_text(body))

    server.reply = reply
    folder.serve(server).write(model="office", rows=6)
    rows = table(await folder.run())
    assert [row["id"] for row in rows] == ["r1", "r2", "r3", "r4", "r5", "r6"]
    assert rows[0]["response"] == "late"


async def test_no_more_rows_are_asked_at_once_than_allowed(folder: Folder, server: ModelServer) -> None:
    full = threading.Event()

    def reply(_body: dict[str, Any]) -> Reply:
        if server.max_at_once >= 3:
            full.set()
        return Reply(wait=full)

    server.reply = reply
    folder.serve(server).write(model="office", rows=12, settings="concurrency: 3")
    await folder.run()
    assert server.max_at_once == 3


async def test_a_failing_row_is_a_row_with_an_error(folder: Folder, server: ModelServer) -> None:
    server.reply = lambda body: (
        Reply(status=400, raw=b'{"error": {"message": "no such luck"}}')
        if last_text(body) == "text 2"
        else Reply("text 1")
    )
    folder.serve(server).write(model="office")
    finished = await folder.run()
    rows = table(finished)
    assert [bool(row["error"]) for row in rows] == [False, True, False, False]
    assert "no such luck" in rows[1]["error"]
    assert rows[1]["right"] == ""
    right = finished.manifest["metrics"][0]
    assert (right["scored"], right["unscored"], right["value"]) == (3, 1, 1 / 3)


async def test_a_row_that_does_not_render_is_a_row_with_an_error(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8")
    broken = text.replace("{{ escape_special_characters(text) }}", "{{ 1 // (text[-1] | int - 2) }}")
    folder.prompt.write_text(broken, encoding="utf-8")
    rows = table(await folder.run())
    assert ["does not render" in row["error"] for row in rows] == [False, True, False, False]


async def test_a_metric_that_raises_leaves_no_score_and_says_why(folder: Folder) -> None:
    folder.write(metrics="metrics.py:broken, metrics.py:length")
    rows = table(await folder.run())
    assert (rows[0]["broken"], rows[0]["error"], rows[0]["length"]) == ("", "", "6")
    assert "ValueError: cannot score text 1" in rows[0]["broken_reason"]


async def test_an_answer_that_takes_too_long_is_an_error_of_its_row(
    folder: Folder, server: ModelServer
) -> None:
    never = threading.Event()
    server.reply = lambda body: Reply(wait=never) if last_text(body) == "text 3" else Reply("ok")
    folder.serve(server).write(model="office", settings="timeout: 5")
    rows = table(await folder.run())
    never.set()
    assert ["did not answer within 5 seconds" in row["error"] for row in rows] == [
        False,
        False,
        True,
        False,
    ]


async def test_progress_counts_every_row_and_goes_through_json_unchanged(folder: Folder) -> None:
    events = []
    await folder.run(events.append)
    assert isinstance(events[0], Started)
    assert events[0].total == 4
    assert [event.done for event in events if isinstance(event, RowFinished)] == [1, 2, 3, 4]
    assert events[-2].left == 0
    assert isinstance(events[-1], Finished)
    assert [from_json(json.loads(json.dumps(to_json(event)))) for event in events] == events


async def test_predicted_keys_of_a_schema_are_columns(folder: Folder) -> None:
    folder.write(settings="json_schema: {type: object, properties: {labels: {type: array}, note: {}}}")
    text = folder.prompt.read_text(encoding="utf-8")
    answer = '{"labels": ["A", "B"], "note": {"x": 1}}'
    folder.prompt.write_text(text.replace("{{ escape_special_characters(text) }}", answer), encoding="utf-8")
    (row, *_) = table(await folder.run())
    assert (row["predicted_labels"], row["predicted_note"]) == ("A;B", '{"x": 1}')


async def test_a_column_that_is_named_like_a_result_is_renamed(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("text,answer,model,error\na,a,car,none\n", encoding="utf-8")
    (row,) = table(await folder.run())
    assert (row["row_model"], row["row_error"], row["model"], row["error"], row["id"]) == (
        "car",
        "none",
        "echo",
        "",
        "1",
    )


async def test_columns_of_a_table_are_rows_of_the_next_run(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("text,answer,error,row_error\na,a,none,older\n", encoding="utf-8")
    (row,) = table(await folder.run())
    assert (row["row_row_error"], row["row_error"], row["error"]) == ("none", "older", "")


async def test_several_models_and_repeats_share_one_table(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(
        model="echo, office", rows=2, settings="repeats: 2", metrics="metrics.py:length"
    )
    server.reply = lambda _body: Reply("four")
    finished = await folder.run()
    assert [(row["id"], row["model"], row["repeat"]) for row in table(finished)] == [
        (row, model, repeat) for row in ("r1", "r2") for model in ("echo", "office") for repeat in "12"
    ]
    by_model = finished.manifest["by_model"]
    assert {name: total["metrics"][0]["value"] for name, total in by_model.items()} == {
        "echo": 6,
        "office": 4,
    }


@pytest.mark.usefixtures("hold")
async def test_a_cancelled_run_keeps_its_finished_rows(folder: Folder) -> None:
    events = []
    three_done = asyncio.Event()

    def notify(event: Event) -> None:
        events.append(event)
        if isinstance(event, RowFinished) and event.done == 3:
            three_done.set()

    running = asyncio.create_task(folder.run(notify))
    await asyncio.wait_for(three_done.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 2)
    assert isinstance(events[-1], Stopped)
    assert (events[-1].done, events[-1].total) == (3, 9)
    kept = stored_results(Path(events[-1].path))
    assert sorted((result.id, result.response) for result in kept) == [
        ("r1", "ok"),
        ("r2", "ok"),
        ("r3", "ok"),
    ]


async def test_a_server_that_is_down_ends_the_run_early_with_what_to_do(folder: Folder) -> None:
    settings = '[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    (folder.path / "promptls.toml").write_text(settings, encoding="utf-8")
    folder.write(model="office", rows=50)
    with pytest.raises(UserError, match=r"answered none of the first 5 rows: nothing answers at") as failure:
        await folder.run()
    assert "start the server" in failure.value.remedy
    assert len(list(stored_results(Path(failure.value.place.path)))) >= 5


async def test_two_runs_that_begin_in_one_second_have_different_names(folder: Folder) -> None:
    from datetime import datetime, timezone

    now = datetime(2026, 11, 21, 10, tzinfo=timezone.utc)
    plan = await plan_run(folder.experiment())
    runs = await asyncio.gather(*(run_plan(plan, lambda _event: None, now=now) for _ in range(4)))
    assert len({run.results for run in runs}) == 4
    assert all(len(table(run)) == 4 for run in runs)


def test_a_name_of_a_finished_run_is_not_taken_again(tmp_path: Path) -> None:
    from datetime import datetime, timezone

    now = datetime(2026, 11, 21, 10, tzinfo=timezone.utc)
    (tmp_path / "20261121-100000-a.csv").touch()
    assert create_run(tmp_path, "a", now, {"models": []}).name == "20261121-100000-a-2"


async def test_the_key_is_in_no_file(
    folder: Folder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", KEY)
    server.reply = lambda body: (
        Reply(status=401, raw=f'{{"error": {{"message": "wrong key {KEY}"}}}}'.encode())
        if last_text(body) == "text 2"
        else Reply(f"the key is {KEY}")
    )
    folder.serve(server, api_key_env="PLANTED").write(model="office")
    finished = await folder.run()
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    for path in folder.results.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    assert KEY not in repr(finished)


async def test_git_commit_and_changes_are_recorded(folder: Folder) -> None:
    import subprocess

    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder.path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    clean = await folder.run()
    assert clean.manifest["git"] == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    folder.write(rows=3)
    assert (await folder.run()).manifest["git"]["dirty"] is True


async def test_a_run_keeps_to_the_rate_of_its_provider(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=9, settings="concurrency: 9")
    toml = folder.path / "promptls.toml"
    # Six at once, and two a second from then on.
    toml.write_text(toml.read_text("utf-8") + "\n[rate_limits.openai]\nrequests_per_minute = 120\n", "utf-8")
    seconds: list[float] = []
    await folder.ask(lambda event: seconds.append(event.seconds) if isinstance(event, RowFinished) else None)
    assert len(seconds) == 9
    assert seconds[-1] >= 1.4


async def test_every_row_waits_while_a_provider_asks_for_a_pause(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=6, settings="concurrency: 1")
    server.queue = [Reply("ok"), Reply(status=429, headers={"Retry-After": "0.4"}, raw=b"{}")]
    finished = await folder.ask()
    assert finished.manifest["totals"]["failed"] == 0
    assert len(server.requests) == 7


async def test_half_characters_and_impossible_counts_are_replaced_and_noted(
    folder: Folder, server: ModelServer
) -> None:
    answer = {
        "choices": [{"message": {"content": "hi \ud83d"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": -5, "completion_tokens": 10**15},
    }
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    folder.serve(server).write(model="office", rows=1)
    finished = await folder.ask(fresh=True)
    (row,) = table(finished)
    assert row["response"] == "hi \N{REPLACEMENT CHARACTER}"
    assert (row["input_tokens"], row["output_tokens"], row["problem"]) == ("", "", "")
    assert row["answer_note"] == (
        "lone surrogates in the answer were replaced; the provider reported -5 input tokens, which was "
        "ignored; the provider reported 1000000000000000 output tokens, which was ignored"
    )
    assert finished.manifest["totals"]["input_tokens"] == 0
    Path(finished.results).read_bytes().decode("utf-8")


async def test_tokens_of_the_prefix_cache_and_of_reasoning_are_counted(
    folder: Folder, server: ModelServer
) -> None:
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 75},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
    }
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    folder.serve(server, input_price=1, output_price=2, cached_input_price=0.1)
    folder.write(model="office")
    finished = await folder.run()
    row = table(finished)[0]
    assert (row["cached_input_tokens"], row["reasoning_tokens"]) == ("75", "20")
    assert float(row["cost"]) == pytest.approx((25 + 7.5 + 100) / 1_000_000)
    run = read_run(Path(finished.manifest_path))
    assert run.token_text == (
        "400 input (75 % from the provider's cache) and 200 output tokens (80 of reasoning)"
    )
