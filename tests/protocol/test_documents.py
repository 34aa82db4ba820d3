from __future__ import annotations

import random
import re
from bisect import bisect_right
from typing import Any

import pytest

from promptls.protocol.documents import did_change
from promptls.text.lines import Unit
from promptls.text.span import Span
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
CODECS = {Unit.UTF8: ("utf-8", 1), Unit.UTF16: ("utf-16-le", 2), Unit.UTF32: ("utf-32-le", 4)}


class Session:
    """As much of a session as a change needs."""

    def __init__(self, unit: Unit) -> None:
        self.workspace = Workspace()
        self.unit = unit
        self.rendered_findings = self

    @property
    def snapshot(self) -> Any:
        return self.workspace.snapshot

    def edited(self, path: str, span: Span, length: int) -> None:
        pass

    def file_changed(self, path: str) -> None:
        pass


def position(text: str, offset: int, unit: Unit) -> dict[str, int]:
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
    line = bisect_right(starts, offset) - 1
    codec, width = CODECS[unit]
    return {"line": line, "character": len(text[starts[line] : offset].encode(codec)) // width}


def splits_a_line_end(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n"


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("seed", range(4))
def test_the_text_stays_that_of_the_client_through_any_edits(unit: Unit, seed: int) -> None:
    dice = random.Random(seed)
    session = Session(unit)
    session.workspace.open("/x/a.yml.j2", TEXT, 1)
    text = TEXT
    for version in range(2, 60):
        changes = []
        start = 0
        for number in range(dice.randint(1, 8)):
            is_elsewhere = number == 0 or dice.random() < 0.2
            near = min(max(start + dice.randint(-8, 8), 0), len(text))
            start = dice.randrange(len(text) + 1) if is_elsewhere else near
            end = min(len(text), start + dice.choice([0, 0, 1, 5, 40]))
            if splits_a_line_end(text, start) or splits_a_line_end(text, end):
                continue
            new = dice.choice(PIECES)
            place = {"start": position(text, start, unit), "end": position(text, end, unit)}
            changes.append({"range": place, "text": new})
            text = text[:start] + new + text[end:]
        document = {"uri": "file:///x/a.yml.j2", "version": version}
        did_change(session, {"textDocument": document, "contentChanges": changes})

        assert session.snapshot.open_files["/x/a.yml.j2"].template.source.text == text


def test_a_change_without_a_range_is_the_whole_text() -> None:
    session = Session(Unit.UTF16)
    session.workspace.open("/x/a.yml.j2", TEXT, 1)

    document = {"uri": "file:///x/a.yml.j2", "version": 2}
    did_change(session, {"textDocument": document, "contentChanges": [{"text": "new"}]})

    opened = session.snapshot.open_files["/x/a.yml.j2"]
    assert (opened.template.source.text, opened.version) == ("new", 2)
