from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.syntax.chunk import Chunk
from promptls.syntax.source import Layout, Source
from promptls.text.positions import (
    PositionEncoding,
    column_from_units,
    line_column,
    line_end,
    line_ends,
    line_starts,
    units_from_column,
)

TEXTS = st.text(alphabet=st.sampled_from("aé—😀\u2028\x85\x0c\n\r\ud800\ufeff\t-{ "), max_size=30)


def test_a_line_ends_at_each_form_of_line_end_only() -> None:
    assert line_starts("a\nb\r\nc\rd") == [0, 2, 5, 7]
    assert line_starts("a\x0cb\x85c\u2028d\u2029e\x0bf") == [0]


def test_a_text_that_ends_with_a_line_end_has_an_empty_last_line() -> None:
    assert line_starts("a\n") == [0, 2]
    assert line_column([0, 2], 2) == (1, 0)


@given(TEXTS)
def test_line_ends_are_counted_as_they_are_found(text: str) -> None:
    assert line_ends(text) == len(line_starts(text)) - 1


@given(TEXTS, st.integers(0, 30))
def test_the_lines_at_the_beginning_of_a_large_chunk_are_those_of_all(text: str, offset: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{Chunk.__module__}._BEGINNING", min(20, len(text) - 1))
        chunk = Chunk(text, (), reach=0)
        assert chunk.line_column(min(offset, len(text))) == line_column(
            line_starts(text), min(offset, len(text))
        )


def test_the_end_of_a_line_is_before_its_line_break() -> None:
    assert line_end("ab\r\ncd", 0) == 2
    assert line_end("ab\r\ncd", 4) == 6


def test_columns_count_in_the_unit_that_is_asked_for() -> None:
    line = "é😀b"

    assert [units_from_column(line, 2, encoding) for encoding in PositionEncoding] == [6, 3, 2]
    assert [
        column_from_units(line, units, encoding)
        for units, encoding in zip((6, 3, 2), PositionEncoding, strict=True)
    ] == [
        2,
        2,
        2,
    ]


def test_units_inside_a_character_lead_to_its_beginning() -> None:
    assert column_from_units("😀b", 1, PositionEncoding.UTF16) == 0
    assert column_from_units("a😀b", 3, PositionEncoding.UTF8) == 1


def test_units_outside_a_line_are_clamped_to_it() -> None:
    assert column_from_units("é😀", 99, PositionEncoding.UTF16) == 2
    assert column_from_units("é😀", -1, PositionEncoding.UTF16) == 0


def test_a_lone_surrogate_counts_as_one_utf_16_unit_and_three_bytes() -> None:
    assert units_from_column("\ud800x", 1, PositionEncoding.UTF16) == 1
    assert units_from_column("\ud800x", 1, PositionEncoding.UTF8) == 3


def test_a_byte_order_mark_is_a_character_of_the_first_line() -> None:
    source = Source.of("\ufeff- name: a\n")

    assert source.offset(0, 1, PositionEncoding.UTF16) == 1
    assert source.layout is Layout.LIST


def test_positions_behind_the_text_are_clamped_to_its_end() -> None:
    source = Source.of("- a\n- b")

    assert source.offset(99, 0, PositionEncoding.UTF16) == 7
    assert source.offset(0, 99, PositionEncoding.UTF16) == 3
    assert source.line_column(99) == (1, 3)


@given(TEXTS)
def test_every_offset_comes_back_from_its_position_in_every_unit(text: str) -> None:
    source = Source.of(text)
    for encoding in PositionEncoding:
        for offset in range(len(text) + 1):
            if text[offset - 1 : offset + 1] == "\r\n":
                continue  # no position names the place inside a line end
            assert source.offset(*source.units(offset, encoding), encoding) == offset


@given(TEXTS)
def test_the_lines_of_a_source_are_those_of_its_text(text: str) -> None:
    source = Source.of(text)
    starts = line_starts(text)

    assert [source.line_span(line).start for line in range(len(starts))] == starts
    assert [source.line(line) for line in range(len(starts))] == [
        text[start : line_end(text, start)] for start in starts
    ]
