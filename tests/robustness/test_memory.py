"""Memory after many edits equals memory after few."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from pathlib import Path

import pytest
from in_process import InProcess

from promptls.semantic.template import Template
from promptls.server import session
from promptls.syntax.chunk import Chunk
from promptls.syntax.source import Source
from promptls.workspace.snapshot import Snapshot

COUNTED = (Template, Chunk, Source, Snapshot)
CLIENT = {
    "textDocument": {"diagnostic": {"relatedDocumentSupport": True}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}
PART = "- name: part {0}\n  role: user\n  content: |\n    {{{{ text }}}} and {{{{ other{0} }}}}\n"
METHODS = ("documentSymbol", "codeLens", "foldingRange", "semanticTokens/full", "diagnostic")


def living() -> Counter[str]:
    gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, COUNTED))


def kept_by(server: InProcess) -> dict[str, int]:
    """Return the sizes of the server's own tables, by name."""
    protocol, session = server.server.protocol, server.server.session
    owners = {"session": session, "diagnostics": session.diagnostics, "protocol": protocol}
    owners |= {"renderings": session.renderings, "runs": session.runs}
    return {
        f"{name}.{field}": len(value)
        for name, owner in owners.items()
        for field, value in vars(owner).items()
        if isinstance(value, dict | set | list)
    } | {f"context.{field}": len(getattr(session.context, field)) for field in ("uris", "tasks")}


async def ask_everything(server: InProcess, uri: str) -> None:
    for method in METHODS:
        await server.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}})
    server.messages.clear()


async def edit(server: InProcess, uri: str, first: int, count: int) -> None:
    """Insert a new tag in the middle of the text, and remove it again."""
    place = {"line": 43, "character": 4}
    for number in range(first, first + count):
        written = f"{{{{ text | upper ~ name{number} }}}}"
        end = {"line": 43, "character": 4 + len(written)}
        server.change(uri, 2 * number, {"range": {"start": place, "end": place}, "text": written})
        server.change(uri, 2 * number + 1, {"range": {"start": place, "end": end}, "text": ""})
        if number % 10 == 0:
            await ask_everything(server, uri)


async def test_edits_leave_nothing_behind(tmp_path: Path) -> None:
    server = InProcess(tmp_path, CLIENT)
    await server.begin()
    uri = server.open("a.yml.j2", "".join(PART.format(index) for index in range(30)))
    other = server.open("b.yml.j2", '{% include "a.yml.j2" %}\n' + PART.format(1))
    await ask_everything(server, other)

    await edit(server, uri, 1, 50)
    before, kept_before = living(), kept_by(server)
    await edit(server, uri, 51, 1000)

    assert living() == before
    assert kept_by(server) == kept_before
    await server.end()


async def test_documents_that_are_closed_are_forgotten(tmp_path: Path) -> None:
    server = InProcess(tmp_path, CLIENT)
    await server.begin()

    async def open_and_close(names: range) -> None:
        for number in names:
            uri = server.open(f"{number}.yml.j2", PART.format(number))
            await ask_everything(server, uri)
            server.send(method="textDocument/didClose", params={"textDocument": {"uri": uri}})

    await open_and_close(range(10))
    before, kept_before = living(), kept_by(server)
    await open_and_close(range(10, 200))

    assert living() == before
    assert kept_by(server) == kept_before
    await server.end()


async def test_garbage_in_cycles_is_freed_in_a_long_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "IDLE_SECONDS", 0.01)
    gc.disable()
    try:
        freed = asyncio.Event()
        weakref.finalize(Cycle(), freed.set)
        server = InProcess(tmp_path, CLIENT)
        await server.begin()
        uri = server.open("a.yml.j2", PART.format(1))
        await asyncio.wait_for(freed.wait(), 20)
        await server.ask(
            "workspace/executeCommand", {"command": "promptls.preview", "arguments": [{"uri": uri}]}
        )
        await server.end()
    finally:
        gc.enable()


async def test_no_process_or_task_retains_the_text_of_the_request_that_started_it(tmp_path: Path) -> None:
    server = InProcess(tmp_path, CLIENT)
    await server.begin()
    uri = server.open("a.yml.j2", PART.format(1))
    preview = {"command": "promptls.preview", "arguments": [{"uri": uri}]}
    await server.ask("workspace/executeCommand", preview)
    (opened,) = server.server.session.context.snapshot.open_files.values()
    former = weakref.ref(opened.template)
    del opened
    server.change(uri, 2, {"text": PART.format(2)})
    await server.ask("workspace/executeCommand", preview)
    gc.collect()
    assert former() is None
    await server.end()


async def test_a_closed_document_is_freed_after_garbage_was_freed_in_a_pause(tmp_path: Path) -> None:
    server = InProcess(tmp_path, CLIENT)
    await server.begin()
    before = gc.get_freeze_count()
    uri = server.open("a.yml.j2", "".join(map(PART.format, range(300))))
    await ask_everything(server, uri)
    session.free_garbage()
    frozen = gc.get_freeze_count()
    assert frozen > before + 5_000
    server.send(method="textDocument/didClose", params={"textDocument": {"uri": uri}})
    for _ in range(2_000):
        if gc.get_freeze_count() < frozen - 5_000:
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the document is not freed")
    await server.end()


def test_a_pause_is_too_short_to_search_many_older_objects() -> None:
    searched: list[int] = []

    def note(phase: str, details: dict[str, int]) -> None:
        if phase == "start":
            searched.append(details["generation"])

    session.free_garbage()
    gc.callbacks.append(note)
    try:
        objects: list[list[object]] = [[] for _ in range(60_000)]
        gc.collect()
        searched.clear()
        session.free_garbage()
        assert searched == [1]
        session.free_garbage()
        assert searched == [1, 2]
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
    assert len(objects) == 60_000


class Cycle:
    """An object that only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self
