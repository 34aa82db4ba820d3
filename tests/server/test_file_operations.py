from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

ENTRY = '{% include "tail.yml.j2" %}\n- name: a\n  content: x\n'
TAIL = "- name: tail\n  content: x\n"
OPERATIONS = {
    "workspace": {
        "fileOperations": {"didCreate": True, "didRename": True, "didDelete": True, "willRename": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {"diagnostic": {}},
}


async def found(wire: Wire, number: int, uri: str) -> list[str]:
    wire.send(id=number, method="textDocument/diagnostic", params={"textDocument": {"uri": uri}})
    return [each["code"] for each in (await wire.answer(number))["result"]["items"]]


async def test_file_operations_are_registered_if_the_client_supports_them(wire: Wire, tmp_path: Path) -> None:
    reported = (await wire.begin(tmp_path, capabilities=OPERATIONS))["result"]["capabilities"]

    assert set(reported["workspace"]["fileOperations"]) == {
        "didCreate",
        "didRename",
        "didDelete",
        "willRename",
    }
    for its in reported["workspace"]["fileOperations"].values():
        assert {each["pattern"]["matches"] for each in its["filters"]} == {"file", "folder"}


async def test_file_operations_are_not_registered_if_the_client_does_not_support_them(
    wire: Wire, tmp_path: Path
) -> None:
    reported = (await wire.begin(tmp_path))["result"]["capabilities"]

    assert not reported["workspace"].get("fileOperations")


@pytest.mark.parametrize("documents", [True, False])
async def test_renaming_a_file_updates_the_includes_of_it(
    wire: Wire, tmp_path: Path, documents: bool
) -> None:
    (tmp_path / "tail.yml.j2").write_text(TAIL)
    capabilities: dict[str, Any] = {"workspace": {"workspaceEdit": {"documentChanges": documents}}}
    await wire.begin(tmp_path, capabilities=capabilities)
    uri = wire.open(tmp_path, ENTRY)

    files = [{"oldUri": (tmp_path / "tail.yml.j2").as_uri(), "newUri": (tmp_path / "end.yml.j2").as_uri()}]
    wire.send(id=2, method="workspace/willRenameFiles", params={"files": files})
    edit = (await wire.answer(2))["result"]

    place = {"start": {"line": 0, "character": 12}, "end": {"line": 0, "character": 23}}
    change = {"range": place, "newText": "end.yml.j2"}
    if documents:
        document = {"uri": uri, "version": 1}
        assert edit == {"documentChanges": [{"textDocument": document, "edits": [change]}]}
    else:
        assert edit == {"changes": {uri: [change]}}


async def test_files_that_are_made_renamed_and_deleted_count(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=OPERATIONS)
    uri = wire.open(tmp_path, ENTRY)
    assert await found(wire, 2, uri) == ["unresolved-include"]

    tail = tmp_path / "tail.yml.j2"
    tail.write_text(TAIL)
    wire.send(method="workspace/didCreateFiles", params={"files": [{"uri": tail.as_uri()}]})
    assert await found(wire, 3, uri) == []

    tail.rename(tmp_path / "end.yml.j2")
    files = [{"oldUri": tail.as_uri(), "newUri": (tmp_path / "end.yml.j2").as_uri()}]
    wire.send(method="workspace/didRenameFiles", params={"files": files})
    assert await found(wire, 4, uri) == ["unresolved-include"]

    (tmp_path / "end.yml.j2").rename(tail)
    wire.send(method="workspace/didCreateFiles", params={"files": [{"uri": tail.as_uri()}]})
    tail.unlink()
    wire.send(method="workspace/didDeleteFiles", params={"files": [{"uri": tail.as_uri()}]})
    assert await found(wire, 5, uri) == ["unresolved-include"]


async def test_a_renamed_folder_is_read_again(wire: Wire, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "entry.yml.j2").write_text('{% include "part.yml.j2" %}\n' + TAIL)
    await wire.begin(tmp_path, capabilities=OPERATIONS)
    (tmp_path / "old").rename(tmp_path / "new")
    files = [{"oldUri": (tmp_path / "old").as_uri(), "newUri": (tmp_path / "new").as_uri()}]
    wire.send(method="workspace/didRenameFiles", params={"files": files})
    wire.send(id=2, method="workspace/diagnostic", params={"previousResultIds": []})

    reports = (await wire.answer(2))["result"]["items"]
    assert [report["uri"] for report in reports] == [(tmp_path / "new" / "entry.yml.j2").as_uri()]


async def test_an_included_file_of_any_name_counts(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=OPERATIONS)
    uri = wire.open(tmp_path, ENTRY.replace("tail.yml.j2", "notes.txt"))
    assert await found(wire, 2, uri) == ["unresolved-include"]

    notes = tmp_path / "notes.txt"
    notes.write_text("# nothing\n")
    wire.send(
        method="workspace/didChangeWatchedFiles", params={"changes": [{"uri": notes.as_uri(), "type": 1}]}
    )

    assert await found(wire, 3, uri) == []
