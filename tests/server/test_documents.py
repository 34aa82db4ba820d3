from __future__ import annotations

import random
import re
from bisect import bisect_right
from typing import Any

import pytest
from lsprotocol import types

from promptls.server.capabilities import ClientCapabilities
from promptls.server.context import Context
from promptls.server.open_documents import Documents
from promptls.server.protocol import make_converter
from promptls.server.server import create_server
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.text.positions import PositionEncoding, Span
from promptls.workspace.workspace import Workspace

TEXT = """\
{#---
name: gruß 🎉
---#}\r
- name: a
  content: |
    Hallo {{ user }}, 🎉🎉 {% if x %}ü{% endif %}
- name: b\r  content: 'x'
{% for m in ms %}
- name: c
  content: {{ m }}
{% endfor %}
"""
PIECES = ["", "x", "🎉", "\n- name: y\n", "{{ ", "%}", "{% if x %}", "\r\n", "\u2028", "é", "- "]
CODECS = {
    PositionEncoding.UTF8: ("utf-8", 1),
    PositionEncoding.UTF16: ("utf-16-le", 2),
    PositionEncoding.UTF32: ("utf-32-le", 4),
}


PATH = "/x/a.yml.j2"


def opened(encoding: PositionEncoding) -> Documents:
    """Return documents, one of which is open."""
    server = create_server()
    context = Context(server, Workspace(), ClientCapabilities(), encoding)
    context.workspace.open(PATH, TEXT, 1)
    return Documents(context, AuxiliaryDocuments(context), server.protocol)


def text_of(documents: Documents) -> str:
    return documents._context.snapshot.open_files[PATH].template.source.text


def change(documents: Documents, version: int | None, *changes: dict[str, Any]) -> None:
    document = {"uri": "file:///x/a.yml.j2", "version": version}
    params = {"textDocument": document, "contentChanges": list(changes)}
    documents.did_change(make_converter().structure(params, types.DidChangeTextDocumentParams))


def position(text: str, offset: int, encoding: PositionEncoding) -> dict[str, int]:
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
    line = bisect_right(starts, offset) - 1
    codec, width = CODECS[encoding]
    return {"line": line, "character": len(text[starts[line] : offset].encode(codec)) // width}


def splits_a_line_end(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n"


@pytest.mark.parametrize("encoding", list(PositionEncoding))
@pytest.mark.parametrize("seed", range(4))
def test_the_text_stays_that_of_the_client_through_any_edits(encoding: PositionEncoding, seed: int) -> None:
    dice = random.Random(seed)
    documents = opened(encoding)
    text = TEXT
    for version in range(2, 30):
        changes = []
        start = 0
        for index in range(dice.randint(1, 8)):
            is_elsewhere = index == 0 or dice.random() < 0.2
            near = min(max(start + dice.randint(-8, 8), 0), len(text))
            start = dice.randrange(len(text) + 1) if is_elsewhere else near
            end = min(len(text), start + dice.choice([0, 0, 1, 5, 40]))
            if splits_a_line_end(text, start) or splits_a_line_end(text, end):
                continue
            new = dice.choice(PIECES)
            place = {"start": position(text, start, encoding), "end": position(text, end, encoding)}
            changes.append({"range": place, "text": new})
            text = text[:start] + new + text[end:]
        change(documents, version, *changes)

        assert text_of(documents) == text


def test_a_change_without_a_range_is_the_whole_text() -> None:
    documents = opened(PositionEncoding.UTF16)

    change(documents, 2, {"text": "new"})

    file = documents._context.snapshot.open_files[PATH]
    assert (file.template.source.text, file.version) == ("new", 2)


def test_a_change_without_a_version_is_applied() -> None:
    documents = opened(PositionEncoding.UTF16)

    change(documents, None, {"text": "new"})

    assert text_of(documents) == "new"


def test_a_position_beyond_all_numbers_of_the_protocol_is_the_end_of_its_line() -> None:
    documents = opened(PositionEncoding.UTF16)
    end = {"line": 1, "character": 2**32 - 1}

    change(documents, 2, {"range": {"start": {"line": 1, "character": 0}, "end": end}, "text": "name: x"})

    assert text_of(documents) == TEXT.replace("name: gruß 🎉", "name: x")


def test_subscribers_are_called_for_each_edit_and_once_for_the_change() -> None:
    documents = opened(PositionEncoding.UTF16)
    seen: list[object] = []
    documents.on_edit(lambda path, span, length: seen.append((path, span, length)))
    documents.on_change(seen.append)
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}}

    change(documents, 2, {"range": place, "text": "x"}, {"range": place, "text": ""})

    assert seen == [(PATH, Span(6, 10), 1), (PATH, Span(6, 10), 0), PATH]
