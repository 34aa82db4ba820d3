from __future__ import annotations

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter

from promptls.server.to_proto import (
    from_position,
    from_range,
    is_file,
    path_of,
    position_encoding,
    range_json,
    to_range,
    uri_of,
)
from promptls.syntax.source import Source
from promptls.text.positions import PositionEncoding, Span

TEXT = "a🎉b\r\nzwei ü\n\n"


@pytest.mark.parametrize("encoding", list(PositionEncoding))
def test_every_span_survives_the_way_to_the_client_and_back(encoding: PositionEncoding) -> None:
    source = Source.of(TEXT)
    inside = [offset for offset in range(len(TEXT) + 1) if offset != TEXT.index("\n")]

    converter = get_converter()
    for start in inside:
        for end in inside:
            if start <= end:
                span = Span(start, end)
                assert from_range(source, to_range(source, span, encoding), encoding) == span
                plain = converter.structure(range_json(source, span, encoding), types.Range)
                assert plain == to_range(source, span, encoding)


@pytest.mark.parametrize(
    ("line", "character", "offset"), [(0, 99, 3), (99, 0, len(TEXT)), (1, 99, 11), (2, 5, 12), (3, 7, 13)]
)
def test_positions_outside_the_text_are_clamped(line: int, character: int, offset: int) -> None:
    assert from_position(Source.of(TEXT), types.Position(line, character), PositionEncoding.UTF16) == offset


def test_a_position_inside_a_character_is_at_its_beginning() -> None:
    assert from_position(Source.of(TEXT), types.Position(0, 2), PositionEncoding.UTF16) == 1


def test_a_range_the_wrong_way_round_is_turned() -> None:
    backwards = types.Range(types.Position(1, 2), types.Position(0, 0))

    assert from_range(Source.of(TEXT), backwards, PositionEncoding.UTF16) == Span(0, 7)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///project/my%20prompts/a%231.yml.j2", "/project/my prompts/a#1.yml.j2"),
        ("file:///project/%F0%9F%8E%89.yml.j2", "/project/🎉.yml.j2"),
        ("file:///project/x/../a.yml.j2", "/project/a.yml.j2"),
        ("file:///project//a.yml.j2", "/project/a.yml.j2"),
        ("untitled:Untitled-1", "untitled:Untitled-1"),
    ],
)
def test_a_uri_leads_to_one_path(uri: str, path: str) -> None:
    assert path_of(uri) == path
    assert path_of(uri_of(path)) == path
    assert is_file(path) == uri.startswith("file:")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (types.PositionEncodingKind.Utf8, PositionEncoding.UTF8),
        ("utf-32", PositionEncoding.UTF32),
        (None, PositionEncoding.UTF16),
    ],
)
def test_the_unit_is_that_of_the_encoding(
    given: types.PositionEncodingKind | str | None, expected: PositionEncoding
) -> None:
    assert position_encoding(given) is expected
