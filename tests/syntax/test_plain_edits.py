"""Edits of plain text move tags without scanning them again; the result equals that of a fresh scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.syntax.jinja.scanner import tag_after_edit
from promptls.syntax.source import Source
from promptls.text.positions import Span
from support.example_counts import examples
from support.soundness import assert_same_as_fresh

pytestmark = pytest.mark.thorough

TEXT = (
    "- name: first\n  content: a\n"
    "- name: b\n  content: |\n    One {{ two }} three {# four #} five.\n"
    "    {% if x %}six{% endif %}\n-seven\n"
    "    - eight {{ '}}' }}\n{% raw %}{{ nine }}{% endraw %}\n"
    "- name: c\n  content: {ten} 100% - \u2028 x\n"
)
TYPED = (
    "x",
    " ",
    "'",
    '"',
    ":",
    "a b",
    "{",
    "}",
    "%",
    "#",
    "-",
    "\n",
    "\r",
    "{{ y }}",
    "{%",
    "\ufeff",
    "\u2028",
    "",
)


@given(st.data())
@examples(300)
def test_an_edited_text_equals_the_same_text_parsed_from_scratch(data: st.DataObject) -> None:
    source = Source.of(TEXT)
    for _ in range(data.draw(st.integers(1, 8))):
        start = data.draw(st.integers(0, len(source)))
        end = min(len(source), start + data.draw(st.sampled_from((0, 0, 0, 1, 2, 7))))
        source = source.edited(Span(start, end), data.draw(st.sampled_from(TYPED)))
        assert_same_as_fresh(source)


@pytest.mark.parametrize(
    ("removed", "typed"),
    [("x- ", "- "), ("{ {", "{{"), ("-x a", "- a"), ("{x% if %}", "{% if %}"), ("{{ a }x}", "{{ a }}")],
)
def test_what_becomes_a_tag_or_an_item_is_one(removed: str, typed: str) -> None:
    text = f"- name: a\n- name: b\n  content: c\n{removed} rest\n- name: d\n"
    place = text.index(removed)
    gone = next(n for n, (old, new) in enumerate(zip(removed, f"{typed} ", strict=False)) if old != new)
    source = Source.of(text).edited(Span(place + gone, place + gone + len(removed) - len(typed)), "")

    assert typed in source.text
    assert_same_as_fresh(source)


@pytest.mark.parametrize(
    ("tag", "removed", "typed", "is_certain"),
    [
        ("{{ a }}", "a", "ab", True),
        ("{%- if x %}", "x", "x.y | z", True),
        ("{{ a }}", "a", "'a", False),
        ("{{ '}}' }}", " }}", "x }}", False),
        ("{{- }}", " ", "", False),
        ("{% rax %}", "x", "w", False),
        ("{{ a }}", "}}", "}", False),
    ],
)
def test_a_tag_is_edited_alone_if_it_certainly_ends_as_before(
    tag: str, removed: str, typed: str, is_certain: bool
) -> None:
    source = Source.of(f"- name: a\n- name: {tag}\n")
    chunk = source.chunks[1]
    start = chunk.text.index(removed, chunk.tags[0].span.start)
    span = Span(start, start + len(removed))

    made = tag_after_edit(chunk.tags[0], span, typed)

    assert (made is not None) is is_certain
    if made is not None:
        offset = source.starts[1]
        assert Source.of(source.edited(span.shifted(offset), typed).text).chunks[1].tags == (made,)
