from __future__ import annotations

from pathlib import Path
from typing import Any

from plain_client import Wire

PROMPT = "- name: greeting\n  content: Hello {{ user }}\n- name: farewell\n  content: x\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def ask(wire: Wire, number: int, **params: Any) -> tuple[Any, list[Any]]:
    """Return the answer to a query for symbols, and its partial results."""
    wire.send(id=number, method="workspace/symbol", params=params)
    parts = []
    while (message := await wire.receive()).get("id") != number:
        if message.get("method") == "$/progress":
            parts.append(message["params"]["value"])
    return message["result"], parts


async def test_names_come_in_parts_to_a_client_that_takes_them(wire: Wire, tmp_path: Path) -> None:
    for index in range(110):
        write(tmp_path / f"{index}.yml.j2", PROMPT)
    await wire.begin(tmp_path)

    found, parts = await ask(wire, 2, query="greet", partialResultToken="parts")
    whole, none = await ask(wire, 3, query="")

    assert found == []
    assert [symbol["name"] for part in parts for symbol in part] == ["greeting"] * 110
    assert none == []
    assert len(whole) == 110 * 4


async def test_names_follow_the_disk_and_unsaved_text(wire: Wire, tmp_path: Path) -> None:
    write(tmp_path / "a.yml.j2", PROMPT)
    await wire.begin(tmp_path)
    before, _ = await ask(wire, 2, query="greeting")
    write(tmp_path / "a.yml.j2", PROMPT.replace("greeting", "salutation"))
    changes = [{"uri": (tmp_path / "a.yml.j2").as_uri(), "type": 2}]
    wire.send(method="workspace/didChangeWatchedFiles", params={"changes": changes})
    after, _ = await ask(wire, 3, query="greeting")
    wire.open(tmp_path, "- name: greeting\n  content: x\n")
    unsaved, _ = await ask(wire, 4, query="greeting")

    assert [len(before), len(after), len(unsaved)] == [1, 0, 1]
