from __future__ import annotations

import json
from typing import Any

import pytest

from promptls.protocol.server import create_server
from promptls.protocol.wire import PromptProtocol

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}


class Writer:
    """Keeps what the server writes."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        """Nothing is to be closed."""


def change(version: int) -> dict[str, Any]:
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    document = {"uri": "file:///a.yml.j2", "version": version}
    params = {"textDocument": document, "contentChanges": [{"range": place, "text": "x"}]}
    return {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}


def pull(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "textDocument/diagnostic", "params": {}}


def cancel(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def protocol(seen: list[str]) -> PromptProtocol:
    """A protocol behind its handshake; it notes a change by its version, a question as `?`."""
    protocol = create_server().protocol
    protocol.set_writer(Writer())
    protocol.handle_together([INITIALIZE])

    def changed(params: dict[str, Any]) -> None:
        seen.append(str(params["textDocument"]["version"]))

    def asked(_params: dict[str, Any]) -> dict[str, Any]:
        seen.append("?")
        return {"kind": "full", "items": []}

    protocol.json_handlers["textDocument/didChange"] = changed
    protocol.json_handlers["textDocument/diagnostic"] = asked
    return protocol


def answered(protocol: PromptProtocol) -> list[tuple[int, bool]]:
    """The number of each answer, and whether it is a result."""
    assert isinstance(protocol.writer, Writer)
    bodies = protocol.writer.written.split(b"Content-Length: ")[1:]
    answers = [json.loads(body.partition(b"\r\n\r\n")[2]) for body in bodies]
    return [(answer["id"], "result" in answer) for answer in answers][1:]


async def test_a_question_that_is_taken_back_while_the_edit_before_it_is_read_is_not_worked_on(
    protocol: PromptProtocol, seen: list[str]
) -> None:
    protocol.handle_together([change(2), pull(1)], lambda: [change(3), cancel(1), pull(2)])

    assert seen == ["2", "3", "?"]
    assert answered(protocol) == [(2, True), (1, False)]


async def test_a_question_that_stands_is_answered_before_the_edits_behind_it(
    protocol: PromptProtocol, seen: list[str]
) -> None:
    protocol.handle_together([change(2), pull(1)], lambda: [change(3), change(4), pull(2)])

    assert seen == ["2", "?", "4", "?"]
    assert answered(protocol) == [(1, True), (2, True)]


async def test_what_arrives_is_looked_at_once_so_that_a_client_without_end_gets_its_answers(
    protocol: PromptProtocol, seen: list[str]
) -> None:
    looked: list[int] = []

    def arrived() -> list[dict[str, Any]]:
        looked.append(1)
        return [change(3), pull(2)]

    protocol.handle_together([change(2), pull(1)], arrived)

    assert looked == [1]
    assert seen == ["2", "?", "3", "?"]
