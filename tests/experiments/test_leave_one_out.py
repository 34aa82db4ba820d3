from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.experiments.leave_one_out import prepared_left_out, run_left_out
from promptls.experiments.leave_one_out_report import known_report
from promptls.experiments.run_protocol import Event, Finished, RowFinished, RunRequest, Stopped
from promptls.text.errors import UsageError
from support.experiment_folder import Folder, last_text
from support.model_server import ModelServer, Reply

PROMPT = """\
{#---
input_keys: [text]
output_key: answer
experiments:
  main: {dataset: rows.csv, models: [office], metrics: ["metrics.py:right"], concurrency: 2}
---#}
{% set examples = ["say yes", "be brief", "never shown"] %}
- name: question
  role: user
  content: |
    {{ examples[0] }} {{ examples[1] }} {{ escape_special_characters(text) }}
"""
ROWS = 12


@pytest.fixture
def folder(tmp_path: Path, server: ModelServer) -> Folder:
    """Return a model that answers correctly only if the prompt asks for a yes."""
    server.reply = lambda body: Reply("yes" if "say yes" in last_text(body) else "no")
    made = Folder(tmp_path).write().serve(server)
    made.prompt.write_text(PROMPT, "utf-8")
    rows = [f"r{index},text {index},yes" for index in range(ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,text,answer", *rows, ""]), "utf-8")
    return made


async def left_out(folder: Folder, see: Callable[[Event], None] = lambda _event: None) -> Finished:
    async with prepared_left_out(RunRequest(prompt=str(folder.prompt))) as left:
        return await run_left_out(left, see)


async def test_the_example_that_makes_answers_right_earns_its_tokens(folder: Folder) -> None:
    events: list[Event] = []
    report = (await left_out(folder, events.append)).manifest

    said = {each["label"]: each for each in report["examples"]}
    assert said["say yes"]["verdict"] == "earns its tokens"
    assert "without it right -100 points" in said["say yes"]["message"]
    assert said["be brief"]["verdict"] == "inconclusive"
    assert "right is the same" in said["be brief"]["message"]
    assert said["say yes"]["shown"] == ROWS
    done = [event.done for event in events if isinstance(event, RowFinished)]
    assert done == list(range(1, 4 * ROWS + 1))


async def test_answers_are_asked_once_and_no_run_is_left_in_the_history(
    folder: Folder, server: ModelServer
) -> None:
    async with prepared_left_out(RunRequest(prompt=str(folder.prompt))) as left:
        calls = left.planned.calls
    await left_out(folder)
    requests = len(server.requests)
    await left_out(folder)

    assert calls == requests == len(server.requests)
    assert [path.name for path in folder.results.iterdir() if path.is_file()] == []
    assert known_report(folder.results, folder.prompt, "main") is not None


async def test_a_cancelled_one_keeps_its_answers(folder: Folder, server: ModelServer) -> None:
    events: list[Event] = []
    begun = asyncio.Event()

    def see(event: Event) -> None:
        events.append(event)
        if isinstance(event, RowFinished):
            begun.set()

    running = asyncio.ensure_future(left_out(folder, see))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    before = len(server.requests)

    assert any(isinstance(event, Stopped) for event in events)
    async with prepared_left_out(RunRequest(prompt=str(folder.prompt))) as left:
        assert left.planned.cached > 0
    assert len(server.requests) == before


async def test_a_prompt_without_examples_says_what_examples_are(tmp_path: Path) -> None:
    folder = Folder(tmp_path).write()
    with pytest.raises(UsageError, match="shows no few-shot examples"):
        async with prepared_left_out(RunRequest(prompt=str(folder.prompt))):
            pass
