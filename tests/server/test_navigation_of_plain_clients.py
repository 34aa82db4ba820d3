"""Results for clients without capabilities, and notifications about changes elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

PROMPT = '- name: greeting\n  content: "Hello {{ user }}"\n- name: b\n  content: "{{ user }}"\n'


async def ask(wire: Wire, number: int, method: str, uri: str, **params: Any) -> Any:
    wire.send(id=number, method=method, params={"textDocument": {"uri": uri}, **params})
    return await wire.answer(number)


async def test_a_client_that_says_nothing_gets_the_plainest_forms(wire: Wire, tmp_path: Path) -> None:
    answer = await wire.begin(tmp_path)
    wire.open(tmp_path, PROMPT)
    uri = (tmp_path / "a.yml.j2").as_uri()
    place = {"position": {"line": 1, "character": 22}}

    renamed = await ask(wire, 2, "textDocument/rename", uri, newName="person", **place)
    outline = await ask(wire, 3, "textDocument/documentSymbol", uri)
    found = await ask(wire, 4, "textDocument/definition", uri, **place)
    folds = await ask(wire, 5, "textDocument/foldingRange", uri)

    assert answer["result"]["capabilities"]["renameProvider"] is True
    assert [edit["newText"] for edit in renamed["result"]["changes"][uri]] == ["person", "person"]
    assert [(each["name"], each["kind"]) for each in outline["result"]] == [("greeting", 5), ("b", 5)]
    assert found["result"] == []
    assert all("startCharacter" in each and "collapsedText" not in each for each in folds["result"])


async def test_a_refused_rename_is_an_error_with_its_reason(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    wire.open(tmp_path, PROMPT)
    uri = (tmp_path / "a.yml.j2").as_uri()

    prepared = await ask(wire, 2, "textDocument/prepareRename", uri, position={"line": 1, "character": 4})
    renamed = await ask(
        wire, 3, "textDocument/rename", uri, position={"line": 1, "character": 22}, newName="my user"
    )

    assert prepared["error"] == {"code": -32803, "message": "there is nothing to rename here"}
    assert renamed["error"]["code"] == -32803
    assert "`my user` is not a name" in renamed["error"]["message"]


async def test_colors_are_asked_for_again_when_another_file_makes_a_section_of_this_one(
    wire: Wire, tmp_path: Path
) -> None:
    refreshes = {"workspace": {"semanticTokens": {"refreshSupport": True}}}
    await wire.begin(tmp_path, capabilities=refreshes)
    wire.open(tmp_path, "Be brief, {{ user }}.\n")
    uri = (tmp_path / "a.yml.j2").as_uri()
    before = await ask(wire, 2, "textDocument/semanticTokens/full", uri)

    entry = tmp_path / "entry.yml.j2"
    entry.write_text('- name: e\n  content: x\n{% include "a.yml.j2" %}\n')
    changes = [{"uri": entry.as_uri(), "type": 1}]
    wire.send(method="workspace/didChangeWatchedFiles", params={"changes": changes})
    while (message := await wire.receive()).get("method") != "workspace/semanticTokens/refresh":
        pass
    wire.send(id=message["id"], result=None)

    after = await ask(wire, 3, "textDocument/semanticTokens/full", uri)
    assert before["result"]["data"] == []
    assert len(after["result"]["data"]) > 0


BEFORE = '  content: "😀😀 {{ '


@pytest.mark.parametrize(
    ("encoding", "column"),
    [
        ("utf-8", len(BEFORE.encode())),
        ("utf-16", len(BEFORE) + 2),
        ("utf-32", len(BEFORE)),
        ("unheard-of", len(BEFORE) + 2),
    ],
)
async def test_columns_count_what_the_initialization_options_say(
    wire: Wire, tmp_path: Path, encoding: str, column: int
) -> None:
    await wire.begin(tmp_path, initializationOptions={"positionEncoding": encoding})
    uri = wire.open(tmp_path, f'- name: a\n{BEFORE}user }}}}"\n')

    answer = await ask(wire, 2, "textDocument/prepareRename", uri, position={"line": 1, "character": column})

    assert answer["result"]["range"]["start"] == {"line": 1, "character": column}
    assert answer["result"]["placeholder"] == "user"
