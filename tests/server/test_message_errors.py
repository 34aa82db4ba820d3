from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire, WireToProcess

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
SERVER_NOT_INITIALIZED, REQUEST_CANCELLED = -32002, -32800


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("method", ["textDocument/hover", "shutdown", "nobody/knows"])
async def test_a_request_ahead_of_initialize_is_refused(wire: Wire, method: str) -> None:
    wire.send(id=7, method=method, params={})

    assert (await wire.answer(7))["error"]["code"] == SERVER_NOT_INITIALIZED


async def test_a_document_that_is_opened_ahead_of_initialize_is_not_there(wire: Wire, tmp_path: Path) -> None:
    uri = wire.open(tmp_path, "- name: a\n  content: x\n")
    await wire.begin(tmp_path)
    wire.send(id=2, method="textDocument/documentSymbol", params={"textDocument": {"uri": uri}})

    assert (await wire.answer(2))["result"] is None


async def test_a_second_initialize_is_refused(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)

    wire.send(id=2, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})

    assert (await wire.answer(2))["error"]["code"] == INVALID_REQUEST


async def test_a_request_behind_shutdown_is_refused(process: WireToProcess, tmp_path: Path) -> None:
    await process.begin(tmp_path)
    process.send(id=2, method="shutdown")
    await process.answer(2)

    process.send(id=3, method="textDocument/hover", params={})
    assert (await process.answer(3))["error"]["code"] == INVALID_REQUEST
    process.send(id=4, method="shutdown")
    assert (await process.answer(4))["error"]["code"] == INVALID_REQUEST
    process.send(method="exit")
    assert await process.end() == 0


@pytest.mark.parametrize(
    ("message", "number", "code"),
    [
        (b"{x}", None, PARSE_ERROR),
        (b"\xff\xfe", None, PARSE_ERROR),
        (b"[" * 100_000, None, PARSE_ERROR),
        ([{"jsonrpc": "2.0", "id": 5, "method": "shutdown"}], None, INVALID_REQUEST),
        ("shutdown", None, INVALID_REQUEST),
        ({"id": 5, "method": "shutdown"}, 5, INVALID_REQUEST),
        ({"jsonrpc": "1.0", "id": "five", "method": "shutdown"}, "five", INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 5, "method": 7}, 5, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": None, "method": "shutdown"}, None, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": [5], "method": "shutdown"}, None, INVALID_REQUEST),
        ({"jsonrpc": "2.0"}, None, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 5, "method": "nobody/knows"}, 5, METHOD_NOT_FOUND),
        ({"jsonrpc": "2.0", "id": 5, "method": "$/unknown"}, 5, METHOD_NOT_FOUND),
        ({"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover"}, 5, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": [1]}, 5, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 5, "method": "textDocument/diagnostic", "params": {}}, 5, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 5, "method": "textDocument/diagnostic", "params": 7}, 5, INVALID_PARAMS),
    ],
)
async def test_what_is_wrong_with_a_message_is_answered(
    wire: Wire, tmp_path: Path, message: Any, number: Any, code: int
) -> None:
    await wire.begin(tmp_path)

    wire.write(framed(message))
    while "error" not in (answer := await wire.receive()):
        pass

    assert (answer["id"], answer["error"]["code"]) == (number, code)
    wire.send(id=99, method="shutdown")
    assert (await wire.answer(99))["result"] is None


async def test_unknown_notifications_and_answers_to_nothing_are_let_go(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    for message in (
        {"method": "$/unknown", "params": {}},
        {"method": "nobody/knows"},
        {"id": "no-request", "result": 1},
        {"id": "no-request", "error": {"code": 1, "message": "x"}},
        {"method": "$/cancelRequest", "params": {"id": 12345}},
        {"method": "textDocument/didChange", "params": {"textDocument": None}},
    ):
        wire.send(**message)

    wire.send(id=99, method="shutdown")
    received = []
    while not received or received[-1].get("id") != 99:
        received.append(await wire.receive())
    assert [message for message in received if "error" in message] == []


async def test_a_request_that_is_cancelled_before_its_handler_runs_is_answered_as_cancelled(
    wire: Wire, tmp_path: Path
) -> None:
    await wire.begin(tmp_path)
    uri = wire.open(tmp_path, "- name: a\n  content: x\n")
    request = {
        "jsonrpc": "2.0",
        "method": "textDocument/definition",
        "params": {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 3}},
    }
    cancelled = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 2}}

    # One write, so that the three arrive together.
    wire.write(framed({**request, "id": 2}) + framed({**request, "id": 3}) + framed(cancelled))

    assert (await wire.answer(2))["error"]["code"] == REQUEST_CANCELLED
    assert "result" in await wire.answer(3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("off", []),
        ("messages", [{"message": "received textDocument/foldingRange (2)"}]),
        ("verbose", [{"message": "received textDocument/foldingRange (2)", "verbose": '{"a": 1}'}]),
    ],
)
async def test_each_message_is_traced_if_the_client_requests_it(
    wire: Wire, tmp_path: Path, value: str, expected: list[Any]
) -> None:
    await wire.begin(tmp_path, trace="off")
    wire.send(method="$/setTrace", params={"value": value})

    wire.send(id=2, method="textDocument/foldingRange", params={"a": 1})
    traces = []
    while (message := await wire.receive()).get("id") != 2:
        if message.get("method") == "$/logTrace":
            traces.append(message["params"])

    assert traces == expected


async def test_a_trace_leaves_out_the_keys_of_a_run(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, trace="verbose")

    arguments = [{"secrets": {"OPENAI_API_KEY": "sk-planted"}, "rows": "3"}]
    wire.send(id=2, method="workspace/executeCommand", params={"command": "none", "arguments": arguments})
    traces = []
    while (message := await wire.receive()).get("id") != 2:
        traces.append(json.dumps(message))

    assert any("[left out]" in trace for trace in traces)
    assert not any("planted" in trace for trace in traces)


async def test_a_text_that_cannot_be_written_names_the_reason(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file in place of the folder", "utf-8")
    monkeypatch.setattr("promptls.server.shown_text.cache_folder", lambda: tmp_path / "cache")
    await wire.begin(tmp_path)
    uri = wire.open(tmp_path, "- name: a\n  content: x\n")
    wire.send(
        id=2,
        method="workspace/executeCommand",
        params={"command": "promptls.preview", "arguments": [{"uri": uri}]},
    )
    message = (await wire.answer(2))["error"]["message"]
    assert message.startswith("the system refused: ")
    assert message.endswith(" (cache)")


@pytest.mark.parametrize(("others", "shown"), [([], "prompts/a.yml"), (["other"], "main/prompts/a.yml")])
async def test_a_place_in_a_message_is_relative_to_the_folder_of_the_workspace(
    wire: Wire, tmp_path: Path, others: list[str], shown: str
) -> None:
    folders = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("main", *others)]
    await wire.begin(tmp_path / "main", workspaceFolders=folders)
    text = "{#---\nsamples: a.yml\n---#}\n- name: a\n  content: x\n"
    uri = wire.open(tmp_path / "main" / "prompts", text)
    wire.send(
        id=2,
        method="workspace/executeCommand",
        params={"command": "promptls.preview", "arguments": [{"uri": uri}]},
    )
    message = (await wire.answer(2))["error"]["message"]
    assert message.endswith(f" ({Path(shown)})")
