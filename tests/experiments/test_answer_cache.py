from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from promptls.experiments.answer_cache import AnswerCache, SharedAnswers
from promptls.experiments.named_runs import known_runs
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.store import FILE, FOLDER
from promptls.models.model import Completion
from promptls.models.testing import digest_of
from promptls.text.errors import FilePlace, UserError
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.waiting import wait_until


@pytest.fixture
def used(folder: Folder, server: ModelServer) -> ModelServer:
    """Return a server that answers the folder's prompt."""
    folder.serve(server).write(model="office", rows=10)
    server.reply = lambda body: Reply(f"to {last_text(body)}")
    return server


async def test_what_was_answered_is_not_asked_again(folder: Folder, used: ModelServer) -> None:
    first = await folder.ask()
    second = await folder.ask()
    assert len(used.requests) == 10
    assert [row["response"] for row in table(second)] == [row["response"] for row in table(first)]
    assert {row["cached"] for row in table(second)} == {"yes"}
    assert second.manifest["totals"]["cached"] == 10


async def test_after_an_edit_only_rows_that_render_otherwise_are_asked(
    folder: Folder, used: ModelServer
) -> None:
    await folder.ask()
    text = folder.prompt.read_text("utf-8")
    edited = "{{ 'Sir, ' if '7' in text or '10' in text }}{{ escape"
    folder.prompt.write_text(text.replace("{{ escape", edited), "utf-8")
    planned = await folder.plan()
    assert (planned.changed, planned.calls, planned.cached) == (2, 2, 8)
    await folder.ask()
    assert {last_text(body) for body in used.requests[10:]} == {"Sir, text 7", "Sir, text 10"}
    assert len(used.requests) == 12


async def test_another_parameter_is_another_answer(folder: Folder, used: ModelServer) -> None:
    await folder.ask()
    folder.write(model="office", rows=10, settings="temperature: 0.5")
    assert (await folder.plan()).calls == 10


async def test_repeats_are_never_served_from_one_anothers_answer(folder: Folder, used: ModelServer) -> None:
    folder.write(model="office", rows=3, settings="repeats: 4")
    numbers = iter(range(100))
    used.reply = lambda _body: Reply(f"answer {next(numbers)}")
    first = table(await folder.ask())
    assert len({row["response"] for row in first}) == 12
    assert set(Counter(row["id"] for row in first).values()) == {4}
    assert [row["response"] for row in table(await folder.ask())] == [row["response"] for row in first]
    more = table(await folder.ask(repeats=5))
    assert [row["cached"] for row in more].count("") == 3
    assert len({row["response"] for row in more}) == 15


async def test_rows_that_render_alike_share_one_answer(folder: Folder, used: ModelServer) -> None:
    (folder.path / "rows.csv").write_text("text,answer\nsame,a\nsame,b\nother,c\n", "utf-8")
    assert (await folder.plan()).calls == 2
    rows = table(await folder.ask())
    assert len(used.requests) == 2
    assert sorted(row["cached"] for row in rows) == ["", "", "yes"]


async def test_a_seed_counts_on_with_the_repeats(folder: Folder, used: ModelServer) -> None:
    folder.write(model="office", rows=1, settings="{repeats: 3, seed: 5}"[1:-1].replace(", ", "\n    "))
    await folder.ask()
    assert sorted(body["seed"] for body in used.requests) == [5, 6, 7]


async def test_failed_rows_are_not_cached(folder: Folder, used: ModelServer) -> None:
    used.reply = lambda body: Reply(status=400, raw=b"{}") if "3" in last_text(body) else Reply("ok")
    await folder.ask()
    assert (await folder.plan()).calls == 1


async def test_a_fresh_run_asks_again(folder: Folder, used: ModelServer) -> None:
    await folder.ask()
    used.reply = lambda _body: Reply("anew")
    await folder.ask(fresh=True)
    assert len(used.requests) == 20
    assert {row["response"] for row in table(await folder.ask())} == {"anew"}


async def test_messages_can_be_read_after_the_prompt_has_changed(folder: Folder, used: ModelServer) -> None:
    finished = await folder.ask()
    folder.prompt.write_text("- name: other\n  content: other\n", "utf-8")
    cache = AnswerCache(folder.results)
    assert cache.messages(table(finished)[0]["rendered_hash"]) == [{"role": "user", "content": "text 1"}]
    cache.close()


@pytest.mark.parametrize("damage", ["no database", "another program's", "damaged"])
async def test_a_file_that_is_no_store_is_named_and_stays(
    folder: Folder, used: ModelServer, damage: str
) -> None:
    finished = await folder.ask()
    path = folder.results / FOLDER / FILE
    if damage == "damaged":
        AnswerCache(folder.results).close()  # what is in the log is moved to the file
        # The message of SQLite quotes the damaged word.
        path.write_bytes(path.read_bytes().replace(b"CREATE TABLE runs", b"CREATE TABL\xff runs"))
    else:
        path.unlink()
    if damage == "no database":
        path.write_bytes(b"this is not a database at all" * 100)
    elif damage == "another program's":
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(UserError, match="cannot be used") as failure:
        await folder.ask()
    assert failure.value.place == FilePlace(path)
    assert "move it away" in str(failure.value.remedy)
    assert path.read_bytes() == before
    assert [run.name for run in known_runs(folder.results)] == [finished.manifest["run"]]
    path.unlink()
    await folder.ask()
    assert len(used.requests) == 20


async def test_a_store_that_is_damaged_behind_its_first_pages_is_named_and_stays(
    folder: Folder, used: ModelServer
) -> None:
    await folder.ask()
    path = folder.results / FOLDER / FILE
    with contextlib.closing(sqlite3.connect(path)) as database:
        (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    before = path.read_bytes()
    with pytest.raises(UserError, match="malformed") as failure:
        await folder.ask()
    assert failure.value.place == FilePlace(path)
    assert "move it away" in str(failure.value.remedy)
    assert path.read_bytes() == before
    path.unlink()
    await folder.ask()


async def test_two_processes_may_keep_answers_at_once(folder: Folder) -> None:
    caches = [AnswerCache(folder.results) for _ in range(2)]
    answer = Completion("yes", 1, 1, 0.1, "m", "stop")
    messages = [{"role": "user", "content": "?"}]
    for index in range(50):
        caches[index % 2].put(bytes([index]), answer, messages)
    assert all(caches[0].get(bytes([index])) == answer for index in range(50))
    for cache in caches:
        cache.close()
        assert cache.get(b"\0") is None


async def test_echo_and_replayed_answers_are_not_cached(folder: Folder) -> None:
    finished = await folder.ask()
    assert answers_in(folder) == 0
    folder.write(model=f"'replay:{finished.results}'")
    replayed = await folder.ask()
    assert [row["response"] for row in table(replayed)] == [f"text {number}" for number in range(1, 5)]
    assert answers_in(folder) == 0


async def test_a_prompt_that_was_not_recorded_cannot_be_replayed(folder: Folder) -> None:
    finished = await folder.ask()
    folder.write(model=f"'replay:{finished.results}'", rows=5)
    rows = table(await folder.ask())
    assert ["no answer to this prompt" in row["error"] for row in rows] == [False] * 4 + [True]


def test_a_rendered_row_is_known_by_its_messages() -> None:
    assert digest_of([{"role": "user", "content": "a"}]) == digest_of([{"content": "a", "role": "user"}])
    assert RenderedRow().digest == ""


async def test_an_edit_is_measured_by_the_last_run_over_all_rows(folder: Folder, used: ModelServer) -> None:
    whole = await folder.ask()
    await folder.ask(rows="2")
    planned = await folder.plan()
    assert (planned.changed, planned.before) == (0, whole.manifest["run"])


async def test_two_runs_at_once_do_not_mix(folder: Folder, used: ModelServer) -> None:
    first, second = await asyncio.gather(folder.ask(), folder.ask())
    assert first.results != second.results
    for finished in (first, second):
        assert [row["response"] for row in table(finished)] == [
            f"to text {number}" for number in range(1, 11)
        ]
    assert max(Counter(map(last_text, used.requests)).values()) == 1


def test_processes_that_run_a_prompt_at_once_pay_for_each_answer_once(
    folder: Folder, used: ModelServer
) -> None:
    """One process is killed in the middle: its open request is repeated, and no other."""
    used.reply = lambda body: Reply(f"to {last_text(body)}", pause=0.05)
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "promptls", "run", str(folder.prompt)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    wait_until(lambda: len(used.requests) >= 3)
    runs[0].kill()
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs[1:]] == [0, 0], said
    # Three rows at once are asked for by the one that was killed.
    assert 10 <= len(used.requests) <= 10 + 3
    assert max(Counter(map(last_text, used.requests)).values()) <= 2


async def test_a_process_that_was_stopped_while_it_asks_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    holder = subprocess.Popen(  # noqa: ASYNC220 - it must hold the lock beside this test
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    answer = Completion("yes", 1, 1, 0.1, "m", "stop")

    async def complete() -> Completion:
        return answer

    try:
        answers = SharedAnswers(cache, patience=0.05)
        assert await answers.answer(b"k" * 32, [], complete) == (answer, False)
        assert await answers.answer(b"k" * 32, [], complete) == (answer, True)
        cache.close()
    finally:
        holder.communicate()


HOLDER = """
import sys
from pathlib import Path
from promptls.experiments.answer_cache import AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
assert cache.claim(b"k" * 32)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_key_is_claimed_once_and_free_again_with_whoever_claimed_it(tmp_path: Path) -> None:
    one, other = AnswerCache(tmp_path), AnswerCache(tmp_path)
    assert [one.claim(b"a" * 32), other.claim(b"a" * 32), other.claim(b"b" * 32)] == [True, False, True]
    other.release(b"a" * 32)
    assert not other.claim(b"a" * 32)
    one.close()
    assert other.claim(b"a" * 32)
    other.close()


def test_a_claim_ends_with_the_process_that_was_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    cache = AnswerCache(tmp_path)
    assert not cache.claim(b"k" * 32)
    holder.kill()
    holder.communicate()
    assert cache.claim(b"k" * 32)
    cache.close()


def answers_in(folder: Folder) -> int:
    cache = AnswerCache(folder.results)
    (store,) = cache.stores
    ((count,),) = store.query("SELECT count(*) FROM answers")
    cache.close()
    return int(count)
