"""Edits of single lines give the same text as edits of the whole text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from promptls.syntax.language import PLAIN_TEXT
from promptls.syntax.source import Source
from promptls.text.positions import ClientPosition, EditedLines, PositionEncoding

TEXTS = some.text(some.sampled_from("ab\n\r🎉\u2028\x0c"), max_size=12)
PLACES = some.builds(ClientPosition, some.integers(-1, 8), some.integers(0, 5))


@given(TEXTS, some.lists(some.tuples(PLACES, PLACES, TEXTS), max_size=4), some.sampled_from(PositionEncoding))
def test_edits_leave_what_they_leave_of_a_source(
    text: str, edits: list[tuple[ClientPosition, ClientPosition, str]], encoding: PositionEncoding
) -> None:
    lines = EditedLines(text)
    for first, last, new in edits:
        source = Source.of(text, PLAIN_TEXT)
        start, end = sorted(source.offset(*place, encoding) for place in (first, last))
        text = text[:start] + new + text[end:]
        lines.edit(first, last, new, encoding)

        assert lines.text == text
