"""No feature raises on any text: prefixes of a rich text, and the text without one piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptls.ide.code_lenses import code_lenses
from promptls.ide.document_symbols import document_symbols
from promptls.ide.experiment_runs import experiment_names
from promptls.ide.hover import hover
from promptls.ide.inlay_hints import inlay_hints
from promptls.ide.navigation import document_links
from promptls.ide.preview_parts import part_lines
from promptls.rendering.file_rendering import FileRendering
from promptls.text.positions import Span
from support.fixture import MAIN, opened
from support.rendered import rendered

PATH = str(Path("/project") / MAIN)
PARTS = """\
{#---
input_keys: {user: {type: string}}
examples: [{user: Ada}]
experiments: {e: {dataset: d.csv}}
---#}
{% macro m(x) %}{{ x }}{% endmacro %}
- name: a
  role: system
  content: |
    Hi {{ user | upper }} {% include "b.j2" %}
{% for t in turns %}
- name: "{{ t.name }}"
  sections:
    - {name: s, content: "{{ m(t) }}"}
{% endfor %}
"""
OBJECT = "name: n\ninstruction: Do {{ x }}.\ninput_keys: [a]\noutput_key: b\nexamples:\n  - {a: 1, b: 2}\n"


def pieces(text: str, step: int) -> Iterator[str]:
    yield from (text[:end] for end in range(0, len(text), step))
    yield from (text[:start] + text[start + step :] for start in range(0, len(text), step))


def old_rendering(text: str) -> FileRendering:
    return rendered(opened(text)[0], PATH)


@pytest.mark.parametrize("whole", [PARTS, OBJECT])
def test_every_feature_answers_on_every_broken_text(whole: str) -> None:
    latest = old_rendering(whole)
    for text in pieces(whole, 5):
        snapshot, _ = opened(text)
        length = len(text)
        for offset in range(0, length + 1, 9):
            found = hover(snapshot, PATH, offset, latest)
            assert found is None or 0 <= found.span.start <= found.span.end <= length, text
        for symbol in document_symbols(snapshot, PATH):
            assert 0 <= symbol.span.start <= symbol.span.end <= length, text
        for link in document_links(snapshot, PATH):
            assert 0 <= link.span.start <= link.span.end <= length, text
        for hint in inlay_hints(snapshot, PATH, Span(0, length), latest):
            assert 0 <= hint.offset <= length, text
        code_lenses(snapshot, PATH, ())
        experiment_names(snapshot, PATH)
        if latest.rendering is not None:
            part_lines(snapshot, PATH, latest.rendering)
