"""Names of a file in chunks equal the names of the file in one chunk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.semantic.names.file_names import FileNames
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.syntax.chunk import ChunkList, cut
from promptls.syntax.source import Source
from promptls.text.positions import Span
from support.example_counts import examples

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yml.j2"))
TEXTS = {
    "a loop over parts": "{% for t in turns %}\n- name: {{ loop.index }}\n  content: {{ t.x }} {{ y }}\n"
    "- name: b\n  content: {{ t }}\n{% else %}\n- name: c\n  content: {{ t }}\n{% endfor %}\n{{ t }}\n",
    "set at the top, read below": "{% set a = b %}\n- name: x\n  content: {{ a }}\n"
    "{% if c %}\n{% set d = 1 %}\n- name: y\n  content: {{ d }}\n{% endif %}\n"
    "- name: z\n  content: {{ d }}\n",
    "set in both branches": "{% if c %}\n{% set d = 1 %}\n- name: y\n  content: {{ d }}\n{% else %}\n"
    "- name: q\n{% set d = 2 %}\n- name: r\n{% endif %}\n- name: z\n  content: {{ d }}\n",
    "a macro that reads what comes": "{% macro m(p) %}\n- name: {{ p }}\n  content: {{ late }} {{ q }}\n"
    "{% endmacro %}\n{% set late = 1 %}\n- name: x\n  content: {{ m(r) }}\n",
    "imports": "{% from 'm.j2' import a, b as c with context %}\n- name: x\n  content: {{ a(c) }} {{ b }}\n"
    "{% if a %}\n- name: y\n  content: {{ a }}{% for a in z %}{{ a }}{% endfor %}\n{% endif %}\n",
    "blocks that nobody closes": "{% for a in b %}\n- name: x\n  content: {{ a }}\n"
    "{% if c %}\n- name: {{ a }}\n",
    "blocks that nobody opens": "- name: x\n  content: {{ a }}\n{% endfor %}\n- name: {{ a }}\n{% else %}\n",
    "blocks in the wrong order": "{% for a in b %}\n- name: x\n{% if c %}\n- name: {{ a }}\n"
    "{% endfor %}\n- name: {{ a }}\n{% endif %}\n- name: {{ c }}\n",
}
PIECES = (
    "- name: {{ a }}\n",
    "- name: {{ b }} {{ loop.index }}\n",
    "{% set a = b %}\n",
    "{% set b = 1 %}\n",
    "{% if a %}\n",
    "{% elif b %}\n",
    "{% else %}\n",
    "{% endif %}\n",
    "{% for a in c %}\n",
    "{% endfor %}\n",
    "{% macro m(b, d=a) %}\n",
    "{% endmacro %}\n",
    "{% with b = a %}\n",
    "{% endwith %}\n",
    "- name: {{ m(d) }}\n",
)


def assert_names_are_those_of_one_piece(source: Source) -> None:
    """Assert that a file's names are the same as if it were one chunk."""
    names = FileNames(source.root)
    whole = FileNames(ChunkList.of(tuple(cut(source.text, at_items=False))))

    assert names.input_names == whole.input_names
    assert names.read_names == whole.read_names
    assert names.references == whole.references
    assert names.bindings == whole.bindings
    may_be_inputs = {each.name for each in names.references if each.is_input}
    assert names.input_names == may_be_inputs - GLOBALS - INJECTED
    for name in sorted(names.read_names):
        of_name = [each for each in names.references if each.name == name]
        assert list(names.references_of(name)) == list(names.searched_references(name)) == of_name
    for reference in names.references:
        assert reference in names.references_in(reference.span.start)


@pytest.mark.parametrize("text", [*TEXTS.values(), *(path.read_text("utf-8") for path in EXAMPLES)])
def test_names_by_chunk_are_those_of_the_whole_file(text: str) -> None:
    assert_names_are_those_of_one_piece(Source.of(text))


@given(st.lists(st.sampled_from(PIECES), max_size=60))
@examples(150)
def test_names_by_chunk_are_those_of_the_whole_file_for_any_order_of_tags(pieces: list[str]) -> None:
    assert_names_are_those_of_one_piece(Source.of("".join(("- name: first\n", *pieces))))


@given(st.lists(st.sampled_from(PIECES), min_size=30, max_size=200), st.data())
@examples(50)
def test_names_are_the_same_after_edits(pieces: list[str], data: st.DataObject) -> None:
    source = Source.of("".join(("- name: first\n", *pieces)))
    for _ in range(5):
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 80)))
        assert FileNames(source.root).read_names  # what is cached now must not be wrong later
        source = source.edited(Span(start, end), data.draw(st.sampled_from(PIECES)))
    assert_names_are_those_of_one_piece(source)
