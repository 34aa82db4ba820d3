from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.experiment_folder import last_text
from support.grants import allow_key
from support.model_server import ModelServer, Reply, model_server
from support.unfinished import unfinished_run

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [text]
experiments:
  answers: {dataset: rows.csv, models: [office], metrics: [exact_match], concurrency: 1}
---#}
- name: question
  content: "{{ text }}"
"""
ROWS = "id,text,expected\n" + "".join(f"r{number},text {number},fine\n" for number in range(1, 7))
KEY = "planted-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def opened(editor: Editor, server: ModelServer, settings: str = "") -> str:
    """Return an experiment with this model server, in a new folder."""
    name = f"runs_{server.url.rpartition(':')[2].partition('/')[0]}"
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n{settings}'
    editor.write(f"{name}/promptls.toml", office)
    editor.write(f"{name}/rows.csv", ROWS)
    return editor.open(f"{name}/ask.yml.j2", PROMPT)


async def test_an_edit_says_how_many_rendered_prompts_it_changes(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    await code.command("runExperiment", uri=uri)
    code.replace(uri, "{{ text }}", "{{ text }}{{ '!' if '3' in text }}")

    planned = await code.command("planExperiment", uri=uri)

    assert (planned.rows, planned.changed, planned.calls, planned.cached) == (6, 1, 1, 5)
    assert planned.message.startswith("1 of 6 rendered prompts differ from the last run; 1 call to make")
    assert len(server.requests) == 6


async def test_some_rows_and_repeats_can_be_run(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)

    result = await code.command("runExperiment", uri=uri, rows="2-3,", repeats=2)

    assert result.rows == 4
    assert [last_text(body) for body in server.requests] == ["text 2"] * 2 + ["text 3"] * 2


async def test_the_server_survives_a_killed_run_which_can_be_resumed(
    code: Editor, server: ModelServer
) -> None:
    release = threading.Event()
    server.reply = lambda body: Reply(wait=release) if last_text(body) == "text 4" else Reply("fine")
    uri = opened(code, server)
    running = asyncio.ensure_future(code.command("runExperiment", uri=uri))

    async def request_count() -> int:
        return len(server.requests)

    await eventually(request_count, lambda count: count == 4)
    assert await code.hover(uri, "name: question") is not None
    os.kill(process_of_a_run(), signal.SIGKILL)
    with pytest.raises(JsonRpcException, match=r"ended unexpectedly.*--resume"):
        await running
    release.set()
    assert await code.hover(uri, "name: question") is not None
    folder = Path(code.root) / Path(uri).parent.name / "experiments"
    journal = unfinished_run(folder)

    result = await code.command("runExperiment", resume=str(journal))

    assert (result.rows, result.failed) == (6, 0)
    assert [last_text(body) for body in server.requests].count("text 1") == 1
    assert len(server.requests) <= 7


async def test_a_run_that_costs_much_asks_and_is_left_when_nobody_agrees(
    code: Editor, server: ModelServer
) -> None:
    uri = opened(code, server, "input_price = 1000000\n")
    questions: list[str] = []
    answers: list[types.MessageActionItem | None] = [None, types.MessageActionItem("Run it")]

    async def answered(params: types.ShowMessageRequestParams) -> Any:
        questions.append(params.message)
        return answers.pop(0)

    code.client.protocol.fm._features[types.WINDOW_SHOW_MESSAGE_REQUEST] = answered
    refused = await code.command("runExperiment", uri=uri)
    assert refused.cancelled
    assert refused.message == "Nothing was run, and nothing was spent."
    assert server.requests == []
    allowed = await code.command("runExperiment", uri=uri)
    assert (allowed.rows, len(questions)) == (6, 2)
    assert "6 calls, for about" in questions[0]


async def test_a_key_of_the_editors_store_reaches_the_provider_and_nothing_else(
    code: Editor, server: ModelServer
) -> None:
    allow_key("OFFICE_KEY", server.url)
    uri = opened(code, server, 'api_key_env = "OFFICE_KEY"\n')
    server.reply = lambda body: (
        Reply(status=400, raw=f"{KEY} is not liked".encode())
        if last_text(body) == "text 2"
        else Reply(f"you sent {KEY}")
    )

    result = await code.command("runExperiment", uri=uri, secrets={"OFFICE_KEY": KEY})

    assert (result.rows, result.failed) == (6, 1)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(result)
    files = [path for path in Path(code.root).rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in repr(code.client.log_messages) + repr(code.client.messages)
    with pytest.raises(JsonRpcException, match="`OFFICE_KEY` is not set"):
        await code.command("runExperiment", uri=uri)


async def test_a_client_can_ask_which_keys_a_run_needs(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server, 'api_key_env = "OFFICE_KEY"\n')

    run = await code.command("keyVariables", command="promptls.runExperiment", arguments={"uri": uri})
    output = uri.rpartition("/")[0] + "/tests.csv"
    data = {"documents": [], "output": output, "model": "openai:gpt-4.1-mini"}
    made = await code.command("keyVariables", command="promptls.generateDataset", arguments=data)

    assert (run.variables, made.variables) == (["OFFICE_KEY"], ["OPENAI_API_KEY"])


def process_of_a_run() -> int:
    """Return the only run process among all descendants of this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes()
        except OSError:
            continue
        if b"promptls.experiments.process" in words and _is_below(int(status.parent.name)):
            found.append(int(status.parent.name))
    (process,) = found
    return process


def _is_below(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        process = int(stat.rpartition(")")[2].split()[1])
    return False


async def test_the_files_of_a_new_prompt_can_be_had(code: Editor) -> None:
    made = await code.command("newPrompt", prompt="reviews", beside=["sample", "dataset", "experiment"])

    assert list(vars(made.files)) == ["reviews.yml.j2", "samples/reviews.yml", "datasets/reviews.csv"]
    with pytest.raises(JsonRpcException, match="there is no kind `poem`"):
        await code.command("newPrompt", prompt="reviews", kind="poem")


async def test_a_run_that_stopped_is_resumed_by_the_name_in_its_message(
    code: Editor, server: ModelServer
) -> None:
    server.reply = lambda _body: Reply("fine")
    uri = opened(code, server)
    code.replace(uri, "concurrency: 1", "concurrency: 1, budget: {calls: 4}")
    with pytest.raises(JsonRpcException, match="the budget of 4 calls is spent") as stopped:
        await code.command("runExperiment", uri=uri)
    named = re.search(r"`promptls run --resume (\S+) --max-calls …`", str(stopped.value))
    assert named is not None

    result = await code.command("runExperiment", uri=uri, resume=named[1])

    assert (result.rows, result.failed, len(server.requests)) == (6, 0, 6)
