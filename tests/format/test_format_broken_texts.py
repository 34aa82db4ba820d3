from __future__ import annotations

import pytest

from promptls.format.prompt_file import edits_after_brace, edits_after_newline, format_edits, format_text
from promptls.syntax.source import Source
from support.texts import OWN

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_a_text_cut_off_anywhere_is_formatted_and_loses_nothing(text: str) -> None:
    for end in range(0, len(text), 5):
        source = Source.of(text[:end])
        for edit in format_edits(source, frame=True):
            assert not text[edit.span.start : edit.span.end].replace(":", "").strip()
        after = format_text(text[:end], frame=True)
        assert format_text(after, frame=True) == after


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_typing_anywhere_brings_edits_inside_the_text(text: str) -> None:
    source = Source.of(text)
    for offset in range(len(text) + 1):
        for edit in (*edits_after_brace(source, offset), *edits_after_newline(source, offset)):
            assert 0 <= edit.span.start <= edit.span.end <= len(text)
            assert not text[edit.span.start : edit.span.end].strip()
