from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

HALF = {"semanticTokens": {"requests": {}}, "hover": {"contentFormat": ["markdown"]}}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"capabilities": {"textDocument": HALF}},
        {"capabilities": {"textDocument": 7, "window": {"workDoneProgress": "yes please"}}},
        {"capabilities": 7, "workspaceFolders": [{"name": "no URI"}]},
        {"capabilities": {}, "processId": "one"},
        [],
        None,
    ],
)
async def test_a_client_that_is_half_wrong_about_itself_is_served(
    wire: Wire, tmp_path: Path, params: Any
) -> None:
    wire.send(id=1, method="initialize", params=params)
    assert (await wire.answer(1))["result"]["serverInfo"]["name"] == "promptls"
    wire.send(method="initialized", params={})

    uri = wire.open(tmp_path, "- name: a\n  content: x\n")
    wire.send(id=2, method="textDocument/documentSymbol", params={"textDocument": {"uri": uri}})
    assert [symbol["name"] for symbol in (await wire.answer(2))["result"]] == ["a"]


async def test_what_is_right_beside_what_is_wrong_counts(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities={"textDocument": HALF})
    uri = wire.open(tmp_path, "- name: a\n  role: user\n  content: x\n")
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 3}}
    wire.send(id=2, method="textDocument/hover", params=place)

    assert (await wire.answer(2))["result"]["contents"]["kind"] == "markdown"
