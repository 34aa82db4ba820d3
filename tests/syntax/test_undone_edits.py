"""An edit that takes back the one before it gives the text that was there, with what is known of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.syntax.source import Source
from promptls.text.span import Span

TEXT = "- name: a\n  content: |\n    Hello {{ name }}\n- name: b\n  content: last\n"


def test_letters_taken_back_one_by_one_lead_to_the_trees_that_were_there() -> None:
    sources = [Source.of(TEXT)]
    place = TEXT.index("name }}")
    for number, letter in enumerate("{% if"):
        sources.append(sources[-1].edited(Span(place + number, place + number), letter))

    source = sources[-1]
    for former in reversed(sources[:-1]):
        place = len(former) - len(TEXT) + TEXT.index("name }}")
        source = source.edited(Span(place, place + 1), "")
        assert source.root is former.root
        assert source.identity is former.identity


def test_only_the_last_edits_are_remembered() -> None:
    source = Source.of(TEXT)
    for _ in range(100):
        source = source.edited(Span(12, 12), "x")

    assert len(source.undo) < 100
    assert all(former.root is not source.root for former in source.undo)


@given(
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 3), st.sampled_from(["", "x", "{{", "}}", "\n- "])))
)
def test_edits_and_their_opposites_leave_the_text_that_they_should(edits: list[tuple[int, int, str]]) -> None:
    source, text = Source.of(TEXT), TEXT
    for start, length, typed in edits:
        begin = min(start, len(text))
        end = min(begin + length, len(text))
        before, was = text, text[begin:end]
        text = text[:begin] + typed + text[end:]
        source = source.edited(Span(begin, end), typed)
        assert source.text == text
        if start % 2:
            source = source.edited(Span(begin, begin + len(typed)), was)
            text = before
            assert source.text == text
