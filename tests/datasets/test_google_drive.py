"""`gdrive`, with a server that stores files like Google Drive."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from promptls import Dataset
from promptls.text.errors import UserError


class Drive(BaseHTTPRequestHandler):
    """Files and folders by id; other requests are rejected."""

    files: ClassVar[dict[str, dict[str, Any]]] = {}

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/drive/v3/files":
            query = parse_qs(address.query)["q"][0]
            parent = re.findall(r"'([^']*)' in parents", query)[0]
            name = re.findall(r"name = '([^']*)'", query)
            found = [
                {"id": key, "name": file["name"]}
                for key, file in self.files.items()
                if parent in file["parents"] and name in ([], [file["name"]])
            ]
            self._answer({"files": found})
        else:
            self._answer(self.files[address.path.rsplit("/", 1)[-1]]["content"])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "refused" in body.decode():
            self.send_error(403)
            return
        key = f"id{len(self.files)}"
        self.files[key] = self._parsed(body)
        self._answer({"id": key})

    def do_PATCH(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = urlsplit(self.path).path.rsplit("/", 1)[-1]
        self.files[key] |= self._parsed(body)
        self._answer({"id": key})

    def _parsed(self, body: bytes) -> dict[str, Any]:
        if not self.path.startswith("/upload"):
            return dict(json.loads(body))
        pieces = body.decode().split("--promptls-rows\r\n")[1:]
        about, rows = (piece.split("\r\n\r\n", 1)[1] for piece in pieces)
        return {**json.loads(about), "content": rows.split("\r\n--promptls-rows--")[0]}

    def _answer(self, value: Any) -> None:
        data = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class Session:
    """The required part of a requests session."""

    def __getattr__(self, method: str) -> Any:
        def send(
            url: str, *, timeout: float, data: bytes = b"", json: Any = None, headers: Any = None
        ) -> Any:
            body = data or (b"" if json is None else globals()["json"].dumps(json).encode())
            request = urllib.request.Request(url, body or None, headers or {}, method=method.upper())
            response = type("Response", (), {})()
            try:
                with urllib.request.urlopen(request, timeout=timeout) as answer:
                    response.ok, response.content = True, answer.read()
            except urllib.error.HTTPError as error:
                response.ok, response.status_code, response.content = False, error.code, b"{}"
            response.json = lambda: globals()["json"].loads(response.content)
            return response

        return send


@pytest.fixture
def options() -> Iterator[dict[str, Any]]:
    Drive.files = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Drive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"session": Session(), "address": f"http://127.0.0.1:{server.server_port}"}
    server.shutdown()
    server.server_close()


def test_rows_come_back_from_the_folder_and_take_the_place_of_older_ones(options: dict[str, Any]) -> None:
    for rows in ([{"id": 1}, {"id": 2, "text": "é"}], [{"id": 3}]):
        dataset = Dataset(name="my_eval", backend="gdrive", root_dir="folder_id", data=rows, **options)
        dataset.save()
        again = Dataset.load("my_eval", "gdrive", folder_id="folder_id", **options)
        assert list(again) == rows
    assert dataset.backend.list_datasets() == ["my_eval"]
    assert dataset.backend.list_experiments() == []


def test_missing_or_refused_models_are_reported(options: dict[str, Any]) -> None:
    with pytest.raises(FileNotFoundError):
        Dataset.load("none", "gdrive", root_dir="folder_id", **options)
    with pytest.raises(UserError, match="status 403"):
        Dataset("refused", "gdrive", root_dir="folder_id", **options).save()
    with pytest.raises(ValueError, match="the id of the folder"):
        Dataset("d", "gdrive")
