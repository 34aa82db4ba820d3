"""A client that speaks plain JSON: also what no library would let through."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

PATIENCE = 20.0


class Wire:
    """A server at the other end of two pipes, spoken to in plain JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def receive(self) -> Any:
        assert self.process.stdout is not None
        header = await asyncio.wait_for(self.process.stdout.readuntil(b"\r\n\r\n"), PATIENCE)
        length = int(header.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return json.loads(await self.process.stdout.readexactly(length))

    async def answer(self, number: int) -> Any:
        while (message := await self.receive()).get("id") != number or "method" in message:
            pass
        return message

    async def begin(self, root: Path, **params: Any) -> Any:
        self.send(
            id=1,
            method="initialize",
            params={"processId": None, "rootUri": root.as_uri(), "capabilities": {}, **params},
        )
        answer = await self.answer(1)
        self.send(method="initialized", params={})
        return answer

    async def end(self) -> int:
        assert self.process.stdin is not None
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    def open(self, root: Path, text: str) -> str:
        """The URI of a document that is opened with the text."""
        params = opened(root, text)
        self.send(method="textDocument/didOpen", params=params)
        return str(params["textDocument"]["uri"])


def opened(root: Path, text: str) -> dict[str, Any]:
    uri = (root / "a.yml.j2").as_uri()
    return {"textDocument": {"uri": uri, "languageId": "promptls", "version": 1, "text": text}}
