from __future__ import annotations

import pytest

from promptls.syntax.source import Source
from promptls.text.positions import Span

PARTS = "- name: a\n  content: b\n- name: c\n  content: d\n"


@pytest.mark.parametrize(
    "above",
    [
        "{% macro greet(x) %}Hi {{ x }}{% endmacro %}\n",
        "{% macro greet(x) -%}\n  Hi {{ x }}\n  there\n{%- endmacro %}\n",
        "{% macro greet(x) %}Hi {% set y %}a{% endset %}{{ y }}{% endmacro %}\n",
        "{% set greeting %}Hi, key: {{ x }}{% endset %}\n",
        "{% macro greet(x) %}Hi {{ x }}\n",
    ],
)
def test_macros_do_not_prevent_later_parts_from_being_chunks(above: str) -> None:
    assert [chunk.text for chunk in Source.of(above + PARTS).chunks][1:] == [PARTS[:23], PARTS[23:]]


@pytest.mark.parametrize("above", ["Hi\n", "{% set x = 1 %}Hi\n", "{% macro a() %}{% endmacro %}Hi\n"])
def test_what_is_printed_above_a_list_makes_the_text_one_chunk(above: str) -> None:
    assert len(Source.of(above + PARTS).root.chunks) == 1


def test_a_macro_typed_above_the_parts_cuts_the_text_as_the_whole_text_is_cut() -> None:
    source = Source.of(PARTS)
    for index, letter in enumerate("{% macro greet(x) %}\nHi {{ x }}{% endmacro %}\n"):
        source = source.edited(Span(index, index), letter)
        assert [chunk.text for chunk in source.chunks] == [
            chunk.text for chunk in Source.of(source.text).chunks
        ]
