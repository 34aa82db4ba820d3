"""Documents with much text: other documents are served while they are prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

from promptls.server.to_proto import range_json
from promptls.syntax.source import Source
from promptls.text.positions import PositionEncoding, line_starts

pytestmark = pytest.mark.usefixtures("real_starts")

SMALL = "- name: a\n  role: system\n  content: {{ tone | upper }}\n"
LARGE = "".join(f"- name: part_{number}\n  role: usr\n  content: hello\n" for number in range(300))


def begin_of(root: Path, name: str, text: str) -> dict[str, Any]:
    return {
        "textDocument": {
            "uri": (root / name).as_uri(),
            "languageId": "promptls",
            "version": 1,
            "text": text,
        }
    }


def place(root: Path, name: str, line: int, character: int) -> dict[str, Any]:
    return {
        "textDocument": {"uri": (root / name).as_uri()},
        "position": {"line": line, "character": character},
    }


async def messages_until(wire: Wire, number: int) -> list[Any]:
    """Return the server's messages up to the answer to a request."""
    found = []
    while not found or found[-1].get("id") != number:
        found.append(await wire.receive())
    return found


async def test_another_document_is_served_while_a_large_one_is_opened(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "small.yml.j2", SMALL))

    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "large.yml.j2", LARGE))
    wire.send(id=2, method="textDocument/documentSymbol", params=place(tmp_path, "large.yml.j2", 0, 0))
    wire.send(id=3, method="textDocument/documentSymbol", params=place(tmp_path, "small.yml.j2", 0, 0))

    answered = [message["id"] for message in await messages_until(wire, 2) if "id" in message]
    assert answered == [3, 2]


async def test_messages_about_a_large_document_are_handled_in_their_order(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "large.yml.j2", LARGE))
    change = {
        "textDocument": {"uri": (tmp_path / "large.yml.j2").as_uri(), "version": 2},
        "contentChanges": [{"text": LARGE.replace("part", "piece")}],
    }
    wire.send(id=2, method="textDocument/documentSymbol", params=place(tmp_path, "large.yml.j2", 0, 0))
    wire.send(method="textDocument/didChange", params=change)
    wire.send(id=3, method="textDocument/documentSymbol", params=place(tmp_path, "large.yml.j2", 0, 0))

    before, after = [message for message in await messages_until(wire, 3) if "id" in message]

    assert [before["id"], before["result"][0]["name"]] == [2, "part_0"]
    assert [after["id"], after["result"][0]["name"]] == [3, "piece_0"]


async def test_a_pasted_text_is_checked_like_a_typed_one(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "a.yml.j2", SMALL))
    end = {"line": 3, "character": 0}
    change = {
        "textDocument": {"uri": (tmp_path / "a.yml.j2").as_uri(), "version": 2},
        "contentChanges": [{"range": {"start": end, "end": end}, "text": LARGE}],
    }
    wire.send(method="textDocument/didChange", params=change)

    while (message := await wire.receive())["params"].get("version") != 2:
        pass

    assert sum(found["code"] == "unknown-role" for found in message["params"]["diagnostics"]) == 300


async def test_a_large_document_that_is_closed_while_it_is_opened_has_no_diagnostics(
    wire: Wire, tmp_path: Path
) -> None:
    await wire.begin(tmp_path)
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "large.yml.j2", LARGE))
    wire.send(
        method="textDocument/didClose",
        params={"textDocument": {"uri": (tmp_path / "large.yml.j2").as_uri()}},
    )
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "large.yml.j2", SMALL))
    wire.send(id=2, method="textDocument/documentSymbol", params=place(tmp_path, "large.yml.j2", 0, 0))

    symbols = (await messages_until(wire, 2))[-1]["result"]

    assert [symbol["name"] for symbol in symbols] == ["a"]


async def test_requests_about_a_large_document_are_answered_when_the_server_shuts_down(
    wire: Wire, tmp_path: Path
) -> None:
    await wire.begin(tmp_path)
    wire.send(method="textDocument/didOpen", params=begin_of(tmp_path, "large.yml.j2", LARGE))
    wire.send(id=2, method="textDocument/hover", params=place(tmp_path, "large.yml.j2", 0, 9))
    wire.send(id=3, method="shutdown")

    found = {message["id"]: message for message in await messages_until(wire, 3) if "id" in message}

    assert found[2]["error"]["message"] == "the server shuts down"
    assert found[3]["result"] is None


def test_a_finding_in_a_text_of_megabytes_is_placed_without_all_its_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[int] = []

    def starts_of(text: str) -> list[int]:
        searched.append(len(text))
        return line_starts(text)

    monkeypatch.setattr("promptls.syntax.chunk.line_starts", starts_of)
    source = Source.of("- name: a\n  content: é\n" * 200_000)
    assert source.refusal is not None

    found = range_json(source, source.refusal.span, PositionEncoding.UTF16)

    assert found["start"] == {"line": 0, "character": 0}
    assert found["end"]["line"] == 0
    assert source.line_column(0) == (0, 0)
    assert max(searched) < 1000
