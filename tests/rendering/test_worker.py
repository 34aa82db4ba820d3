"""The worker renders and counts in another process, and is restarted when that ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from promptls.rendering.execute import execute
from promptls.rendering.job import PARTS_PER_MESSAGE, RenderJob, RowMessages
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.worker import (
    CountingError,
    Limits,
    RenderWorker,
    SupersededError,
)

MakeJob = Callable[..., RenderJob]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("real_starts")]


def running(worker: RenderWorker) -> int:
    pid = worker._process.pid
    assert pid is not None
    return pid


async def rendering(worker: RenderWorker, job: RenderJob) -> Rendering:
    outcome = await worker.render(job)
    assert isinstance(outcome, Rendering), outcome
    return outcome


async def failure(worker: RenderWorker, job: RenderJob) -> RenderFailure:
    outcome = await worker.render(job)
    assert isinstance(outcome, RenderFailure), outcome
    return outcome


async def test_parts_string_messages_and_counts_come_back(worker: RenderWorker, make_job: MakeJob) -> None:
    text = "- name: a\n  role: system\n  content: hello {{ who }}\n- name: b\n  content: lo\n"
    found = await rendering(worker, make_job(text, data={"who": "world"}))
    assert [(part.name, part.role, part.content, part.tokens) for part in found.parts] == [
        ("a", "system", "hello world", 2),
        ("b", "user", "lo", 1),
    ]
    assert found.string == "hello worldlo"
    assert found.messages == [
        {"role": "system", "content": "hello world"},
        {"role": "user", "content": "lo"},
    ]
    assert (found.tokens, found.tokens_kept, found.problems) == (3, 3, ())
    assert found.text == "- name: a\n  role: system\n  content: hello world\n- name: b\n  content: lo"


async def test_a_rendering_in_several_messages_comes_back_whole(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    count = 2 * PARTS_PER_MESSAGE + 1
    text = f"{{% for i in range({count}) %}}\n- name: p{{{{ i }}}}\n  content: c\n{{% endfor %}}\n"
    found = await rendering(worker, make_job(text))
    assert [part.name for part in found.parts] == [f"p{index}" for index in range(count)]
    assert found.string == "c" * count


async def test_the_limit_leaves_the_newest_turns(worker: RenderWorker, make_job: MakeJob) -> None:
    text = (
        "- {name: s, role: system, content: one}\n"
        "{% for turn in turns %}- {name: t, truncation_priority: 1, content: {{ turn }}}\n{% endfor %}"
    )
    job = make_job(text, data={"turns": ["two", "three", "four"]}, token_limit=3, truncation_step=1)
    found = await rendering(worker, job)
    assert [part.kept for part in found.parts] == [True, False, True, True]
    assert (found.string, found.tokens, found.tokens_kept) == ("onethreefour", 4, 3)
    assert [message["content"] for message in found.messages] == ["one", "three", "four"]


async def test_an_unreachable_limit_is_a_problem_of_the_whole_rendering(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    job = make_job("- {name: a, content: one two three}", token_limit=1, truncation_step=1)
    found = await rendering(worker, job)
    assert [part.kept for part in found.parts] == [True]
    assert [problem.kind for problem in found.problems] == ["truncation"]


async def test_a_special_token_is_counted_as_text_and_reported(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    found = await rendering(worker, make_job("- {name: a, content: <|endoftext|>}"))
    assert found.tokens == 7
    assert [problem.kind for problem in found.problems] == ["tokens"]


async def test_content_that_is_no_text_leaves_messages_and_no_string(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    text = "- {name: a, content: [{type: text, text: hi}]}\n- {name: b, content: 2024-01-02}"
    found = await rendering(worker, make_job(text))
    assert found.string is None
    assert [message["content"] for message in found.messages] == [
        [{"type": "text", "text": "hi"}],
        "2024-01-02",
    ]


async def test_data_keep_their_types_on_the_way(worker: RenderWorker, make_job: MakeJob) -> None:
    import datetime as dt

    data = {"m": {1: "one"}, "d": dt.date(2024, 5, 6), "s": "\ud800", "t": ("a",)}
    text = "- name: a\n  content: {{ m[1] }} {{ d.year }} {{ s | length }} {{ t[0] }}"
    assert (await rendering(worker, make_job(text, data=data))).string == "one 2024 1 a"


async def test_data_that_cannot_be_sent_are_a_failure(worker: RenderWorker, make_job: MakeJob) -> None:
    found = await failure(worker, make_job("x", data={"f": print}))
    assert (found.kind, "builtin_function_or_method" in found.message) == ("data", True)


async def test_unsaved_includes_count(worker: RenderWorker, make_job: MakeJob, tmp_path: Path) -> None:
    part = str(tmp_path / "part.yml.j2")
    job = make_job("{% include 'part.yml.j2' %}", unsaved={part: "- {name: a, content: typed}"})
    found = await rendering(worker, job)
    assert found.string == "typed"
    assert found.files == (part, job.path)


async def test_a_failure_has_its_place(worker: RenderWorker, make_job: MakeJob) -> None:
    found = await failure(worker, make_job("- name: a\n  content: {{ user.name }}"))
    assert (found.kind, found.line, found.path) == ("render", 1, make_job("").path)
    found = await failure(worker, make_job("- name: a\n  contnet: {{ x }}"))
    assert (found.kind, found.rendered_line) == ("parts", 1)


async def test_an_unknown_encoding_is_a_failure(worker: RenderWorker, make_job: MakeJob) -> None:
    found = await failure(worker, make_job("- {name: a, content: b}", encoding="o200k_bas"))
    assert (found.kind, "Did you mean 'o200k_base'" in found.message) == ("encoding", True)


async def test_texts_are_counted(worker: RenderWorker) -> None:
    assert await worker.count(["hello world", "", "<|endoftext|>"], "o200k_base") == [2, 0, 7]
    assert await worker.count(["hello"], "gpt-4") == [1]
    assert await worker.count([], "o200k_base") == []


async def test_counting_with_an_unknown_encoding_raises(worker: RenderWorker) -> None:
    with pytest.raises(CountingError, match="Did you mean"):
        await worker.count(["hello"], "cl100")


@pytest.mark.parametrize(
    "endless",
    [
        "{% for i in range(10**15) %}\n    {% endfor %}",
        "{{ range(n) | sum }}",  # one operation, during which no other thread looks at anything
        "{% if n ** n ** n > 5 %}{% endif %}",
        "{{ 10 ** (10 ** 10) }}",  # worked out while it is compiled
    ],
)
async def test_an_endless_job_ends_at_the_limit_and_its_line_is_known(
    make_job: MakeJob, endless: str
) -> None:
    worker = RenderWorker(Limits(seconds=0.5))
    text = f"- name: a\n  content: |\n    {endless}"
    found = await failure(worker, make_job(text, data={"n": 10**15}))
    assert (found.kind, found.line) == ("timeout", 2)
    assert "limit of 0.5 seconds and was stopped, at line 3 of prompt.yml.j2" in found.message
    assert (await rendering(worker, make_job("- {name: a, content: b}"))).string == "b"
    await worker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the CPU time of another process is read only on Linux")
async def test_waiting_for_a_busy_processor_does_not_count(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=0.4))
    job = make_job("- {name: a, content: '{{ range(n) | sum }}'}", data={"n": 1})
    await rendering(worker, job)
    began = time.perf_counter()
    await rendering(worker, replace(job, data={"n": 10**6}))
    # About 0.15 seconds of computing, beside three processes on the same processor.
    job = replace(job, data={"n": int(10**6 * 0.15 / (time.perf_counter() - began))})
    processor = {min(os.sched_getaffinity(0))}
    command = [sys.executable, "-c", "while True: pass"]
    busy = [await asyncio.create_subprocess_exec(*command) for _ in range(3)]
    try:
        for pid in (running(worker), *(each.pid for each in busy)):
            os.sched_setaffinity(pid, processor)
        await rendering(worker, job)
    finally:
        for each in busy:
            each.kill()
            await each.wait()
        await worker.close()


async def test_an_answer_that_this_process_is_too_busy_to_read_is_not_late(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=0.4))
    job = make_job("- {name: a, content: '{{ range(n) | sum }}'}", data={"n": 1})
    await rendering(worker, job)
    asking = asyncio.ensure_future(rendering(worker, job))
    for _ in range(5):
        await asyncio.sleep(0)  # the job is sent
    asyncio.get_running_loop().call_soon(time.sleep, 0.6)
    assert (await asking).string == "0"
    await worker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory reliably")
async def test_a_hungry_template_ends_at_the_memory_limit(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=30, memory_bytes=300 << 20))
    found = await failure(worker, make_job("- name: a\n  content: {{ 'a' * 10**9 }}"))
    assert (found.kind, found.line) == ("memory", 1)
    assert "more than its limit of 300 MiB" in found.message
    assert (await rendering(worker, make_job("- {name: a, content: b}"))).string == "b"
    await worker.close()


async def test_a_process_killed_between_jobs_is_started_again(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    job = make_job("- {name: a, content: b}")
    await rendering(worker, job)
    before = running(worker)
    os.kill(before, getattr(signal, "SIGKILL", signal.SIGTERM))
    assert (await rendering(worker, job)).string == "b"
    assert running(worker) != before


async def test_a_job_that_kills_its_process_is_a_crash(
    worker: RenderWorker, make_job: MakeJob, tmp_path: Path
) -> None:
    (tmp_path / "helpers.py").write_text("import os\ndef die():\n    os._exit(7)\n")
    job = make_job("- {name: a, content: '{{ die() }}'}", functions=str(tmp_path / "helpers.py"))
    found = await failure(worker, job)
    assert (found.kind, found.line) == ("crash", 0)
    assert "at line 1 of prompt.yml.j2 (exit code 7)" in found.message
    assert await worker.count(["hello"], "o200k_base") == [1]


async def test_jobs_asked_for_at_once_get_their_own_answers(worker: RenderWorker, make_job: MakeJob) -> None:
    jobs = [make_job("- {name: a, content: n{{ n }}}", data={"n": index}) for index in range(8)]
    found = await asyncio.gather(*(worker.render(job) for job in jobs), worker.count(["hello"], "o200k_base"))
    assert [outcome.string for outcome in found[:-1] if isinstance(outcome, Rendering)] == [
        f"n{index}" for index in range(8)
    ]
    assert found[-1] == [1]


async def test_rows_in_one_message_come_back_as_rows_one_by_one(
    worker: RenderWorker, make_job: MakeJob, tmp_path: Path
) -> None:
    (tmp_path / "rules.yml.j2").write_text("- {name: rules, role: system, content: Be short.}\n", "utf-8")
    text = (
        '{% include "rules.yml.j2" %}\n'
        "{% for turn in turns %}- {name: t, truncation_priority: 1, content: {{ turn }}}\n{% endfor %}"
        "- {name: q, content: {{ text }}}\n"
    )
    rows = [
        {"text": "plain", "turns": []},
        {"text": "[broken", "turns": []},
        {"text": "'<|endoftext|>'", "turns": ["one", "two", "three", "four"]},
        {"text": "{a: 1}", "turns": [1, None]},
        {"text": 'told: "so"', "turns": ["x" * 50]},
    ]
    job = make_job(text, token_limit=6, truncation_step=1)
    alone = [await worker.render(replace(job, data=row)) for row in rows]
    together = await worker.render_rows(job, rows)
    assert together is not None
    assert together.outcomes == [
        each
        if isinstance(each, RenderFailure)
        else RowMessages(each.messages, each.tokens, each.tokens_kept, each.files)
        for each in alone
    ]
    assert [isinstance(each, RenderFailure) for each in together.outcomes] == [
        False,
        True,
        False,
        False,
        True,
    ]


async def test_a_row_without_an_end_gives_up_all_rows_of_its_message(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=0.3))
    job = make_job("{% for a in range(n) %}{% for b in range(n) %}{% endfor %}{% endfor %}- {content: x}")
    try:
        assert await worker.render_rows(job, [{"n": 1}, {"n": 10**9}]) is None
        assert await worker.render_rows(job, [{"n": 1}, {"n": object()}]) is None
        assert await worker.render_rows(job, [{"n": 1}, {"n": 2}]) is not None
    finally:
        await worker.close()


async def test_a_cancelled_caller_leaves_the_worker_usable(worker: RenderWorker, make_job: MakeJob) -> None:
    await worker.start()
    task = asyncio.ensure_future(worker.render(make_job("- {name: a, content: '{{ range(10**6) | sum }}'}")))
    await asyncio.sleep(0)
    before = running(worker)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await rendering(worker, make_job("- {name: a, content: b}"))).string == "b"
    assert running(worker) == before


async def test_closing_gives_up_a_running_job_and_ends_the_process(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=60))
    await worker.start()
    process = running(worker)
    task = asyncio.ensure_future(worker.render(make_job("{% for i in range(10**15) %}{% endfor %}")))
    await asyncio.sleep(0)
    await worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_prompt_object_becomes_one_message(worker: RenderWorker, make_job: MakeJob) -> None:
    text = (
        "instruction: Sort the {{ thing }}.\ninput_keys: {ticket: {type: string}}\noutput_key: label\n"
        "examples:\n- {ticket: It broke, label: {kind: bug}}\n"
    )
    job = make_job(text, data={"thing": "ticket", "ticket": "Help"}, kind="prompt object")
    found = await rendering(worker, job)
    string = 'Sort the ticket.\n\nticket: "It broke"\nlabel: {"kind": "bug"}\n\nticket: Help\nlabel: \n'
    assert found.messages == [{"role": "user", "content": string}]
    wrong = await failure(worker, make_job("input_keys: [a]\noutput_key: b", kind="prompt object"))
    assert (wrong.kind, "has no `instruction`" in wrong.message) == ("prompt object", True)
    refused = await failure(worker, make_job(text.replace("{kind: bug}", "bug"), kind="prompt object"))
    assert (refused.line, "in example 1 is not valid JSON" in refused.message) == (4, True)


async def test_a_library_name_in_the_working_folder_is_not_imported(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jinja2.py").write_text("raise SystemExit('the folder was run')")
    monkeypatch.chdir(tmp_path)
    worker = RenderWorker()
    assert (await rendering(worker, make_job("- {name: a, content: b}"))).string == "b"
    await worker.close()


async def test_a_newer_job_of_a_file_takes_the_place_of_one_that_runs(make_job: MakeJob) -> None:
    worker = RenderWorker(Limits(seconds=600))
    endless = asyncio.ensure_future(
        worker.render_latest(make_job("- {name: a, content: '{{ range(10**15) | sum }}'}"))
    )
    await worker.start()
    latest = await worker.render_latest(make_job("- {name: a, content: b}"))
    assert isinstance(latest, Rendering)
    assert latest.string == "b"
    with pytest.raises(SupersededError):
        await endless
    await worker.close()


async def test_equal_jobs_that_are_asked_for_at_once_are_done_once(
    worker: RenderWorker, make_job: MakeJob
) -> None:
    job = make_job("- {name: a, content: '{{ range(10**5) | sum }}'}")
    first, second = await asyncio.gather(worker.render_latest(job), worker.render_latest(job))
    assert first is second


async def test_an_outcome_is_the_same_on_both_sides(worker: RenderWorker, make_job: MakeJob) -> None:
    text = (
        "- name: a\n  content: [{type: text, text: hi}]\n"
        "- name: b\n  role: system\n  sections: [{name: s, content: one}, {name: t, content: two}]\n"
        "- {name: c, truncation_priority: 1, content: three}\n"
    )
    job = make_job(text, token_limit=2, truncation_step=1, with_source_map=True)
    here, there = execute(job), await worker.render(job)
    assert isinstance(here, Rendering)
    assert isinstance(there, Rendering)
    ours, theirs = (json.loads(json.dumps(replace(each, seconds=0).to_json())) for each in (here, there))
    assert ours == theirs
