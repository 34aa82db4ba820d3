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
    arguments = {"textDocument": {"uri": wire.open(tmp_path, TEXT)}, **params}

    wire.send(id=2, method=f"textDocument/{method}", params=arguments)
    whole = (await wire.answer(2))["result"]
    wire.send(id=3, method=f"textDocument/{method}", params={**arguments, "partialResultToken": "parts"})
    parts = []
    while (message := await wire.receive()).get("id") != 3:
        if message.get("method") == "$/progress":
            assert message["params"]["token"] == "parts"
            parts.append(message["params"]["value"])

    assert message["result"] == []
    assert [len(part) for part in parts] == (
        [100, 100, 100, 1] if method == "references" else [200, count - 200]
    )
    assert [each for part in parts for each in part] == whole


async def test_references_come_while_further_files_are_searched(wire: Wire, tmp_path: Path) -> None:
    context = {"includeDeclaration": True}
    await request_over_many_files(wire, tmp_path, "references", context=context, partialResultToken="parts")
    wire.send(id=3, method="textDocument/foldingRange", params={"textDocument": {"uri": "file:///none"}})

    order, found = [], []
    while 2 not in order:
        message = await wire.receive()
        if message.get("method") == "$/progress" and message["params"]["token"] == "parts":
            found += message["params"]["value"]
            order.append("part")
        elif "method" not in message:
            order.append(message["id"])

    assert message["result"] == []
    assert sorted(order, key=str) == [2, 3, "part", "part"]
    assert len({each["uri"] for each in found}) == len(found) == FILES + 1


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


INCLUDER = "{% include 'a.yml.j2' %}\n- name: a\n  content: '{{ customer.name }}'\n"
FILES = 150


def shared_by_many(folder: Path) -> None:
    """Write prompts that share an input through an included file."""
    for index in range(FILES):
        (folder / f"p{index}.yml.j2").write_text(INCLUDER)


async def request_over_many_files(wire: Wire, folder: Path, method: str, **params: Any) -> None:
    """Send request 2, about an input that many files share; its progress token is that of `shown`."""
    shared_by_many(folder)
    await wire.begin(folder)
    uri = wire.open(folder, "- name: tail\n  content: '{{ customer }}'\n")
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 16}, "workDoneToken": "shown"}
    wire.send(id=2, method=f"textDocument/{method}", params={**place, **params})


REQUESTS = [("references", {"context": {"includeDeclaration": True}}), ("rename", {"newName": "client"})]


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_others_are_answered_while_many_files_are_searched(
    wire: Wire, tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    await request_over_many_files(wire, tmp_path, method, **params)
    wire.send(id=3, method="textDocument/foldingRange", params={"textDocument": {"uri": "file:///none"}})

    order, kinds = [], []
    while 2 not in order:
        message = await wire.receive()
        if message.get("method") == "$/progress" and message["params"]["token"] == "shown":
            kinds.append(message["params"]["value"]["kind"])
        elif "method" not in message:
            order.append(message["id"])

    assert order == [3, 2]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert len(message["result"] if method == "references" else message["result"]["changes"]) == FILES + 1


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_a_search_through_many_files_ends_when_it_is_cancelled(
    wire: Wire, tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    await request_over_many_files(wire, tmp_path, method, **params)
    wire.send(method="$/cancelRequest", params={"id": 2})

    assert (await wire.answer(2))["error"]["code"] == -32800
