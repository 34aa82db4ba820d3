"""A typist: one document in one server, with waiting after each edit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from client import Client
from servers import Server
from templates import typing_place

BURST: Final = 50
"""The number of edits that are typed at once."""
KINDS_OF_KEYSTROKES: Final = 4
"""Prose, a broken tag, the tag fixed, the prose removed."""
OPENING_SECONDS: Final = 30
"""The timeout for the first diagnostics of a document, in seconds."""
ANSWER_SECONDS: Final = 10
"""The timeout for everything else, in seconds."""


class Typist:
    """One document in one server, into which the same edits are typed repeatedly."""

    def __init__(self, server: Server, folder: Path, text: str, name: str) -> None:
        place = typing_place(text)
        self.uri = (folder / name).as_uri()
        self.line = text.count("\n", 0, place)
        self.column = place - text.rfind("\n", 0, place) - 1
        self.version = 1
        self.took = 0.0
        self.lines = text.splitlines(keepends=True)
        self.client = Client(server.command, folder)
        self.client.seconds = OPENING_SECONDS
        try:
            self.client.initialize()
            document = {"uri": self.uri, "languageId": server.language, "version": 1, "text": text}
            self.client.notify("textDocument/didOpen", {"textDocument": document})
            self.client.wait_for_diagnostics(self.uri, 1)
        except BaseException:
            self.client.close()
            raise
        self.client.seconds = ANSWER_SECONDS

    def change(self) -> dict[str, Any]:
        """Return the parameters of the next edit: prose, a broken tag, the tag fixed, the prose removed."""
        step = self.version % KINDS_OF_KEYSTROKES
        self.version += 1
        prose = {"line": self.line, "character": self.column - len("{{ limit") - 2}
        tag = {"line": self.line, "character": self.column + 1}  # the letter of prose is there
        begin, length, typed = (
            (prose, 0, "x"),
            (tag, 0, "|"),
            (tag, 1, ""),
            (prose, 1, ""),
        )[step - 1]
        end = {"line": begin["line"], "character": begin["character"] + length}
        line = self.lines[begin["line"]]
        self.lines[begin["line"]] = line[: begin["character"]] + typed + line[end["character"] :]
        edit = {"range": {"start": begin, "end": end}, "text": typed}
        return {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [{"text": "".join(self.lines)} if self.client.takes_whole_texts else edit],
        }

    def keystroke(self) -> None:
        """Type, and wait for the diagnostics of the new text."""
        self.client.notify("textDocument/didChange", self.change())
        started = self.client.sent_at
        self.client.wait_for_diagnostics(self.uri, self.version)
        self.took = time.perf_counter() - started

    def ask(self, request: str) -> None:
        """Type, and wait for the answer to a request sent right after it."""
        self.client.notify("textDocument/didChange", self.change())
        started = self.client.sent_at
        position = {"line": self.line, "character": self.column - 2}
        params = {"textDocument": {"uri": self.uri}, "position": position}
        self.client.request(f"textDocument/{request}", params)
        self.took = time.perf_counter() - started

    def burst(self) -> None:
        """Type many times at once, and wait for the diagnostics of the last text."""
        messages: list[Any] = []
        for _ in range(BURST):
            messages += ["textDocument/didChange", self.change()]
        self.client.notify(*messages)
        started = self.client.sent_at
        self.client.wait_for_diagnostics(self.uri, self.version)
        self.took = time.perf_counter() - started
