"""No text, however broken, makes the analysis fail, and every span lies in the text."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.syntax.source import Source
from promptls.text.positions import Span
from support.example_counts import THOROUGH
from support.soundness import assert_same_as_fresh, assert_sound
from support.texts import OWN, example_texts, page_texts

TEXTS = {**OWN, **page_texts(), **example_texts()}
STEP = 1 if os.environ.get("PROMPTLS_LONG_TESTS") else 47 if THOROUGH else 101
"""The number of characters between two breaks of a text."""
PIECES = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{-",
    "-}}",
    "'",
    '"',
    "-",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "|",
    ":",
    "---",
    "...",
    "\t",
    "\r",
    "\n",
    "\r\n",
    "\x00",
    "\ufeff",
    "\u2028",
    "\x85",
    "�",
    "{%raw%}",
    "{%endraw%}",
    "{%if(x)%}",
    "{%endif%}",
    "{{x}}",
    "{{x|}}",
    "&",
    "*",
    "?",
    "!",
    "%",
    "@",
    "😀",
    "\\",
]
INSERTS = st.lists(
    st.sampled_from([*PIECES, "\n- ", "\n- name: x\n  content: y\n", "a", " ", "  "]), max_size=4
).map("".join)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), INSERTS), min_size=1, max_size=12)


@pytest.mark.parametrize("name", TEXTS)
def test_every_beginning_of_a_text_is_read(name: str) -> None:
    text = TEXTS[name]
    for end in range(0, len(text) + 1, STEP):
        assert_sound(text[:end])


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_without_one_of_its_characters_is_read(name: str) -> None:
    text = TEXTS[name]
    for place in range(0, len(text), STEP):
        assert_sound(text[:place] + text[place + 1 :])


@given(st.sampled_from(sorted(TEXTS)), st.floats(0, 1), INSERTS)
def test_a_text_with_anything_put_into_it_is_read(name: str, where: float, insert: str) -> None:
    text = TEXTS[name]
    place = int(where * len(text))
    assert_sound(text[:place] + insert + text[place:])


@given(
    st.lists(
        st.sampled_from([*PIECES, " ", "\n", "\n- ", "name", "content", "for x in", "else"]), max_size=40
    )
)
def test_any_pieces_in_any_order_are_read(pieces: list[str]) -> None:
    assert_sound("".join(pieces))


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert_sound(text)


@given(st.sampled_from(sorted(TEXTS)), EDITS)
def test_an_edited_source_is_what_its_whole_text_gives(
    name: str, edits: list[tuple[float, int, str]]
) -> None:
    source = Source.of(TEXTS[name])
    for where, length, insert in edits:
        before = source.text
        start = int(where * len(before))
        end = min(start + length, len(before))
        source = source.edited(Span(start, end), insert)
        assert source.text == before[:start] + insert + before[end:]
        assert_same_as_fresh(source)


@pytest.mark.parametrize("name", TEXTS)
def test_typing_a_text_character_by_character_gives_what_its_whole_text_gives(name: str) -> None:
    source = Source.of("")
    for place, character in enumerate(TEXTS[name]):
        source = source.edited(Span(place, place), character)
        if place % STEP == 0:
            assert_same_as_fresh(source)
    assert_same_as_fresh(source)
