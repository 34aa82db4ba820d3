from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from promptls.ide.document_symbols import DocumentSymbol, document_symbols
from support.fixture import MAIN, opened

PATH = str(Path("/project") / MAIN)
PROMPT = """\
{#---
name: greeting
input_keys: {text: {type: string}, other: {}}
examples:
  - text: hi
  - text: ho
experiments:
  first: {dataset: d.csv}
---#}
{% macro bold(text, twice=1) %}**{{ text }}**{% endmacro %}
- name: a
  role: system
  content: x
- name: "{{ b }}"
  sections:
    - name: s
      content: y
{% block rules %}
{% set tone = 1 %}
- name: c
  content: z
{% endblock %}
"""


def outline(text: str) -> list[str]:
    """Return the symbols as an indented list."""
    return list(_lines(document_symbols(opened(text)[0], PATH), 0))


def _lines(symbols: Iterable[DocumentSymbol], depth: int) -> Iterable[str]:
    for symbol in symbols:
        yield f"{'  ' * depth}{symbol.kind} {symbol.name}{' ' + symbol.detail if symbol.detail else ''}"
        yield from _lines(symbol.children, depth + 1)


def test_header_macros_parts_and_sections_make_the_outline() -> None:
    assert outline(PROMPT) == [
        "header header greeting",
        "  key name",
        "  key input_keys",
        "    input text string",
        "    input other",
        "  key examples",
        "    example example 1",
        "    example example 2",
        "  key experiments",
        "    key first",
        "macro bold (text, twice)",
        "part a system",
        "part {{ b }}",
        "  section s",
        "block rules",
        "  variable tone",
        "  part c",
    ]


def test_a_prompt_object_is_outlined_by_its_keys() -> None:
    text = "instruction: Do it.\ninput_keys: [a]\noutput_key: b\n"

    assert outline(text) == ["key instruction", "key input_keys", "  input a", "key output_key"]


def test_other_files_have_no_outline() -> None:
    assert outline("- hosts: all\n  tasks: []\n") == []


@pytest.mark.parametrize("end", range(0, len(PROMPT), 3))
def test_every_beginning_of_a_file_has_an_outline_inside_its_text(end: int) -> None:
    text = PROMPT[:end]

    for symbol in document_symbols(opened(text)[0], PATH):
        assert 0 <= symbol.span.start <= symbol.span.end <= end
        assert 0 <= symbol.name_span.start <= symbol.name_span.end <= end


def test_a_part_includes_trailing_lines_that_consist_of_tags() -> None:
    text = "- name: a\n  content: |\n    Hello\n    {{ x }}\n\n"
    text += "- name: b\n  sections:\n    - content: |\n        {{ y }}\n"

    first, second = document_symbols(opened(text)[0], PATH)

    assert text[first.span.start : first.span.end].endswith("{{ x }}")
    assert text[second.children[0].span.start : second.span.end].endswith("{{ y }}")
