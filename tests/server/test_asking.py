from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor
from lsprotocol import types
from plain_client import Wire
from pygls.exceptions import JsonRpcException

from support.experiment_folder import last_text
from support.model_server import ModelServer, Reply, model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = (
    "{#---\ninput_keys: [question]\nsamples: samples.yml\n---#}\n"
    "- name: question\n  role: user\n  content: '{{ question }}'\n"
)
EVENTS = (
    b'data: {"choices": [{"delta": {"content": "It is "}}], "model": "small"}\n\n'
    b'data: {"choices": [{"delta": {"content": "on its way."}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def opened(editor: Editor, server: ModelServer) -> str:
    name = f"asking_{server.url.rpartition(':')[2].partition('/')[0]}"
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
    editor.write(f"{name}/promptls.toml", office)
    editor.write(f"{name}/samples.yml", "one: {question: Where is it?}\ntwo: {question: Who are you?}\n")
    return editor.open(f"{name}/a.yml.j2", PROMPT)


async def test_the_answer_to_what_is_shown_arrives_in_pieces_and_is_stored(
    code: Editor, server: ModelServer
) -> None:
    pieces: list[Any] = []

    @code.client.feature("promptls/answerText")
    def take(params: Any) -> None:
        pieces.append(params)

    server.queue = [Reply(raw=EVENTS, headers={"Content-Type": "text/event-stream"})]
    uri = opened(code, server)

    found = await code.command("ask", uri=uri, sample="two", model="office", follow="f")

    assert last_text(server.requests[0]) == "Who are you?"
    assert "".join(each.text for each in pieces) == found.answer.response == "It is on its way."
    assert (found.answer.inputTokens, found.answer.outputTokens, found.message) == (9, 5, "")
    stored = await code.command("previewAnswers", uri=uri, sample="two")
    assert [each.response for each in stored.answers] == ["It is on its way."]
    assert stored.digest == found.answer.digest
    assert (await code.command("previewAnswers", uri=uri, sample="one")).answers == []


async def test_edited_data_is_asked_about(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)

    await code.command("ask", uri=uri, data={"question": "Why?"}, model="office")

    assert last_text(server.requests[0]) == "Why?"
    stored = await code.command("previewAnswers", uri=uri, data={"question": "Why?"})
    assert len(stored.answers) == 1


async def test_a_request_that_is_cancelled_ends_and_stores_nothing(code: Editor, server: ModelServer) -> None:
    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    uri = opened(code, server)
    params = types.ExecuteCommandParams("promptls.ask", [{"uri": uri, "model": "office"}])
    asking = code.client.protocol.send_request(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="ask")
    await asyncio.to_thread(server.received.wait, 20)

    code.client.cancel_request(types.CancelParams("ask"))

    with pytest.raises(JsonRpcException):
        await asyncio.wrap_future(asking)
    release.set()
    assert (await code.command("previewAnswers", uri=uri)).answers == []


@pytest.mark.asyncio(loop_scope="function")
async def test_a_client_without_panels_cancels_at_the_progress(
    wire: Wire, server: ModelServer, tmp_path: Path
) -> None:
    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
    (tmp_path / "promptls.toml").write_text(office)
    await wire.begin(tmp_path, initializationOptions={"trusted": True})
    uri = wire.open(tmp_path, "- name: question\n  role: user\n  content: Why?\n")
    params = {"command": "promptls.ask", "arguments": [{"uri": uri, "model": "office"}], "workDoneToken": "t"}
    wire.send(id=2, method="workspace/executeCommand", params=params)
    await asyncio.to_thread(server.received.wait, 20)

    wire.send(method="window/workDoneProgress/cancel", params={"token": "t"})

    assert (await wire.answer(2))["result"] == {"answer": None, "message": "cancelled"}
    release.set()


@pytest.mark.asyncio(loop_scope="function")
async def test_a_request_cancelled_before_its_progress_is_shown_asks_no_model(
    wire: Wire, server: ModelServer, tmp_path: Path
) -> None:
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
    (tmp_path / "promptls.toml").write_text(office)
    capabilities = {"window": {"workDoneProgress": True}}
    await wire.begin(tmp_path, initializationOptions={"trusted": True}, capabilities=capabilities)
    uri = wire.open(tmp_path, "- name: question\n  role: user\n  content: Why?\n")
    params = {"command": "promptls.ask", "arguments": [{"uri": uri, "model": "office"}]}
    wire.send(id=2, method="workspace/executeCommand", params=params)
    while (message := await wire.receive()).get("method") != "window/workDoneProgress/create":
        pass

    wire.send(method="$/cancelRequest", params={"id": 2})

    assert "error" in await wire.answer(2)
    wire.send(id=message["id"], result=None)
    wire.send(id=3, method="workspace/executeCommand", params={**params, "workDoneToken": "t"})
    await wire.answer(3)
    assert len(server.requests) == 1


async def test_a_prompt_that_does_not_render_is_not_sent(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    code.replace(uri, "{{ question }}", "{{ asked.none }}")

    with pytest.raises(JsonRpcException, match="undefined"):
        await code.command("ask", uri=uri, model="office")

    assert server.requests == []


async def test_a_sample_is_saved_to_a_file_that_is_not_open(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)

    saved = await code.command("saveData", uri=uri, to="sample", sample="three", data={"question": "What?"})

    assert saved.sample == "three"
    assert (await code.command("preview", uri=uri, sample="three")).data.question == "What?"


async def test_an_example_is_added_to_the_open_prompt(code: Editor, server: ModelServer) -> None:
    edits: list[types.ApplyWorkspaceEditParams] = []

    @code.client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        edits.append(params)
        return types.ApplyWorkspaceEditResult(applied=True)

    uri = opened(code, server)

    await code.command("saveData", uri=uri, to="example", data={"question": "What?"}, response="That.")

    assert "examples:" in str(edits[0].edit)
    assert Path(uri.removeprefix("file://")).read_text() == PROMPT
