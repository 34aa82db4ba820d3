from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

MACRO = "{% macro greet() %}{% endmacro %}\n"
TEXT = MACRO + "- name: a\n  content: x {{ greet() }}\n" * 300
PLACE = {"position": {"line": 0, "character": 11}, "context": {"includeDeclaration": True}}


@pytest.mark.parametrize(
    ("method", "params", "count"),
    [("documentSymbol", {}, 301), ("references", PLACE, 301), ("documentHighlight", PLACE, 301)],
)
async def test_a_long_list_comes_in_parts_to_a_client_that_takes_parts(
    wire: Wire, tmp_path: Path, method: str, params: dict[str, Any], count: int
) -> None:
    await wire.begin(
        tmp_path,
        capabilities={"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}},
    )
    asked = {"textDocument": {"uri": wire.open(tmp_path, TEXT)}, **params}

    wire.send(id=2, method=f"textDocument/{method}", params=asked)
    whole = (await wire.answer(2))["result"]
    wire.send(id=3, method=f"textDocument/{method}", params={**asked, "partialResultToken": "parts"})
    parts = []
    while (message := await wire.receive()).get("id") != 3:
        if message.get("method") == "$/progress":
            assert message["params"]["token"] == "parts"
            parts.append(message["params"]["value"])

    assert message["result"] == []
    assert [len(part) for part in parts] == [200, count - 200]
    assert [each for part in parts for each in part] == whole


async def test_a_hover_over_a_text_that_changes_meanwhile_is_given_up(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    uri = wire.open(tmp_path, TEXT)
    document = {"uri": uri}
    change = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "- name: b\n"}]}
    position = {"line": 0, "character": 3}

    # The first rendering, which the hover waits for, takes a process to be started.
    wire.send(id=2, method="textDocument/hover", params={"textDocument": document, "position": position})
    wire.send(method="textDocument/didChange", params=change)

    assert (await wire.answer(2))["error"]["code"] == -32801
