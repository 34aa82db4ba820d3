"""A real HTTP server with the protocols of model providers, and simulated failures.

It speaks OpenAI's chat completions and, depending on the path, Anthropic's messages, Google's generateContent
and Bedrock's converse.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One answer: `content` becomes a chat completion, unless `raw` is sent instead.

    `cut` breaks the connection in the middle, and `endless` repeats this text until the client disconnects.
    The answer is sent after `pause` seconds, and after `wait` is set.
    """

    content: str = "fine"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: bool = False
    wait: threading.Event | None = None
    endless: bytes | None = None
    pause: float = 0.0


class ModelServer:
    """Answers with `reply`, a function of the request's body, or with queued replies first."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.queue: list[Reply] = []
        self.reply: Callable[[dict[str, Any]], Reply] = lambda _body: Reply()
        self.received = threading.Event()
        self.stop = threading.Event()
        self.max_at_once = 0
        self._now = 0
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.requests.append(body)
            self.received.set()
            self.headers.append(headers)
            self._now += 1
            self.max_at_once = max(self.max_at_once, self._now)
            reply = self.queue.pop(0) if self.queue else self.reply(body)
        if reply.wait is not None:
            reply.wait.wait(20)
        if reply.pause:
            self.stop.wait(reply.pause)
        with self._lock:
            self._now -= 1
        return reply


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: Any) -> None:
        """Ignore clients that have disconnected, which some tests do on purpose."""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Run a server until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.paths.append(self.path)
            reply = server.answer(body, dict(self.headers))
            content = reply.raw if reply.raw is not None else _in_protocol(self.path, reply.content, body)
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            if reply.endless is not None:
                self.end_headers()
                while True:
                    self.wfile.write(reply.endless)
                    self.wfile.flush()
                    server.stop.wait(0.02)
            self.send_header("Content-Length", str(len(content) + (100 if reply.cut else 0)))
            self.end_headers()
            self.wfile.write(content)
            if reply.cut:
                self.close_connection = True

        def do_GET(self) -> None:
            server.paths.append(self.path)
            content = json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: Any) -> None:
            pass

    http = _QuietServer(("127.0.0.1", 0), Handler)
    server = ModelServer(f"http://127.0.0.1:{http.server_port}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


def completion(content: str, body: dict[str, Any]) -> bytes:
    value = {
        "model": body["model"],
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    return json.dumps(value).encode()


def _in_protocol(path: str, content: str, body: dict[str, Any]) -> bytes:
    """Return the answer in the protocol of the path."""
    if path.partition("?")[0].endswith("/messages"):
        value: dict[str, Any] = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": content}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
    elif ":generateContent" in path:
        value = {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10},
        }
    elif path.endswith("/converse"):
        value = {
            "output": {"message": {"role": "assistant", "content": [{"text": content}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
            "metrics": {"latencyMs": 1},
        }
    else:
        return completion(content, body)
    return json.dumps(value).encode()
