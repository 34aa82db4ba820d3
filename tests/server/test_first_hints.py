"""Results for clients that do not support refresh requests."""

from __future__ import annotations

from pathlib import Path

from plain_client import Wire


async def test_the_first_tokens_are_waited_for_where_nobody_asks_again(wire: Wire, tmp_path: Path) -> None:
    await wire.begin(tmp_path)
    uri = wire.open(tmp_path, "- name: rules\n  content: Be brief.\n")
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}

    wire.send(id=2, method="textDocument/inlayHint", params={"textDocument": {"uri": uri}, "range": whole})

    (hint,) = (await wire.answer(2))["result"]
    assert hint["label"] == "3 tokens"
