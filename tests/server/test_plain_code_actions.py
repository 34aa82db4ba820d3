"""Code actions of a client that supports only commands: they do the same as code actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_client import Wire

PROMPT = '{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: "{{ txt }}"\n'
EDITS = {"workspace": {"applyEdit": True}}
RANGE = {"start": {"line": 4, "character": 16}, "end": {"line": 4, "character": 16}}


async def ask(wire: Wire, number: int, method: str, **params: Any) -> Any:
    wire.send(id=number, method=method, params=params)
    return await wire.answer(number)


async def actions(wire: Wire, uri: str, number: int = 2) -> dict[str, Any]:
    """Return the commands offered at the misspelled name, by title."""
    answer = await ask(
        wire,
        number,
        "textDocument/codeAction",
        textDocument={"uri": uri},
        range=RANGE,
        context={"diagnostics": []},
    )
    # Only commands may be answered: their `command` is a text, and that of a code action an object.
    assert all(isinstance(each["command"], str) for each in answer["result"])
    return {each["title"]: each for each in answer["result"]}


async def test_a_fix_is_a_command_after_which_the_server_asks_for_the_edit(
    wire: Wire, tmp_path: Path
) -> None:
    answer = await wire.begin(tmp_path, capabilities=EDITS)
    uri = wire.open(tmp_path, PROMPT)
    offered = await actions(wire, uri)
    assert answer["result"]["capabilities"]["codeActionProvider"] is True
    (title,) = (each for each in offered if "Change to" in each)
    assert "Add `txt` to `input_keys`" in offered

    command = offered[title]
    wire.send(
        id=3,
        method="workspace/executeCommand",
        params={"command": command["command"], "arguments": command["arguments"]},
    )
    while (request := await wire.receive()).get("method") != "workspace/applyEdit":
        pass
    wire.send(id=request["id"], result={"applied": True})
    answer = await wire.answer(3)

    assert request["params"]["label"] == title
    (edit,) = request["params"]["edit"]["changes"][uri]
    assert (edit["newText"], edit["range"]["start"]) == ("text", {"line": 4, "character": 15})
    assert answer["result"]["applied"] is True


async def test_an_edit_for_a_former_text_is_refused(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path, capabilities=EDITS)
    uri = wire.open(tmp_path, PROMPT)
    offered = await actions(wire, uri)
    (command,) = (each for title, each in offered.items() if "Change to" in title)
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": f"{PROMPT}\n"}]}
    wire.send(method="textDocument/didChange", params=change)

    answer = await ask(
        wire,
        3,
        "workspace/executeCommand",
        command=command["command"],
        arguments=command["arguments"],
    )

    assert "the file has changed since the action was offered" in answer["error"]["message"]


@pytest.mark.parametrize("capabilities", [{}, {"workspace": {}}], ids=["nothing", "no edits"])
async def test_a_client_that_makes_no_edits_is_offered_none(
    wire: Wire, tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    await wire.begin(tmp_path, capabilities=capabilities)
    uri = wire.open(tmp_path, PROMPT)

    offered = await actions(wire, uri)

    assert {each["command"] for each in offered.values()} <= {
        "promptls.preview",
        "promptls.ask",
        "promptls.contract",
        "promptls.truncationLab",
    }
