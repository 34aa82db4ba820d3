"""Messages in editor windows contain no links made by foreign text."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import IO, Any

from promptls.text.escape import for_message
from support.terminals import COMMAND, environment

LINK = "[Fix](command:workbench.action.terminal.new)"


def framed(**message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_a_message_keeps_its_words_and_makes_no_link() -> None:
    assert for_message(f"see {LINK}\x1b[2J") == r"see [Fix] (command:workbench.action.terminal.new)\x1b[2J"


def answer_to(number: int, stream: IO[bytes]) -> Any:
    """Return the answer with this id, among the messages of a server."""
    while True:
        length = 0
        while header := stream.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        message = json.loads(stream.read(length))
        if message.get("id") == number and "method" not in message:
            return message


def test_the_error_of_a_command_makes_no_link(tmp_path: Path) -> None:
    initialize = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
    with subprocess.Popen(
        [*COMMAND, "server", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write(framed(id=1, method="initialize", params=initialize))
            server.stdin.write(framed(method="initialized", params={}))
            server.stdin.write(framed(id=2, method="workspace/executeCommand", params={"command": LINK}))
            server.stdin.flush()
            message = answer_to(2, server.stdout)["error"]["message"]
        finally:
            server.kill()
    assert message.startswith("there is no command `[Fix] (command:")
