"""A server in the test process that receives messages and appends its own to a list."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from pathlib import Path
from typing import Any

from promptls.server.server import ExpectedAnswers, PromptServer, create_server

Json = dict[str, Any]


class InProcess:
    """The client's end; messages of the server are stored until they are taken."""

    def __init__(self, root: Path, capabilities: Json | None = None) -> None:
        self.root = root
        self.capabilities = capabilities or {}
        self.server: PromptServer = create_server()
        logging.getLogger("pygls.protocol.json_rpc").addFilter(ExpectedAnswers())
        self.server.protocol.set_writer(self, include_headers=False)
        self.messages: list[Json] = []
        self._next_id = 0

    def write(self, data: bytes) -> None:
        message = json.loads(data)
        if "method" in message and "id" in message:
            result = [{}] if message["method"] == "workspace/configuration" else None
            asyncio.get_running_loop().call_soon(partial(self.send, id=message["id"], result=result))
        else:
            self.messages.append(message)

    def close(self) -> None:
        """Do nothing; writers need this method."""

    def send(self, **message: Any) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def ask(self, method: str, params: Any) -> Any:
        """Return the result of a request; fails if it is answered with an error."""
        answer = await self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    async def answer(self, method: str, params: Any) -> Json:
        """Return the answer to a request, with its result or its error."""
        self._next_id += 1
        self.send(id=self._next_id, method=method, params=params)
        while True:
            for message in self.messages:
                if message.get("id") == self._next_id:
                    self.messages.remove(message)
                    return message
            await asyncio.sleep(0)

    async def notified(self, method: str) -> Json:
        """Return the parameters of the first notification of this method that was not taken yet."""
        while True:
            for message in self.messages:
                if message.get("method") == method:
                    self.messages.remove(message)
                    params: Json = message["params"]
                    return params
            await asyncio.sleep(0)

    async def begin(self) -> None:
        params = {"processId": None, "rootUri": self.root.as_uri(), "capabilities": self.capabilities}
        await self.ask("initialize", params)
        self.send(method="initialized", params={})

    async def end(self) -> None:
        await self.ask("shutdown", None)

    def open(self, name: str, text: str) -> str:
        uri = (self.root / name).as_uri()
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        self.send(method="textDocument/didOpen", params={"textDocument": document})
        return uri

    def change(self, uri: str, version: int, *changes: Json) -> None:
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": list(changes)}
        self.send(method="textDocument/didChange", params=params)
