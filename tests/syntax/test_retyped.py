"""Typing inside a block scalar gives the same YAML as reading the text anew."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Node
from promptls.syntax.yaml.retyped import retyped
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

pytestmark = pytest.mark.thorough

TEXTS = {
    "lines with tags and signs": "- name: a\n  content: |\n    First line.\n    Second {{ x }} line.\n"
    "    Third: line # no comment.\n  role: user\n- name: b\n  content: x\n",
    "lines of other depth": "- name: a\n  content: |-\n\n      deep\n     shallow\n    - item\n    k: value\n"
    "  role: user\n",
    "branches": "- name: a\n  content: |\n    one\n    {% if x %}\n    two\n    {% else %}\n    two\n"
    "    {% endif %}\n    last",
    "folded": "- name: a\n  content: >\n    folded\n    lines\n\n    here\n  tokens: [1, 2]\n",
    "a depth that is given": "- name: a\n  content: |2\n      three\n    two\n     one\n",
    "quotes, and sections": "- name: 'quo\n    ted'\n  content: \"dou\n    ble\"\n  sections:\n"
    "    - name: s\n      content: |\n        a b\n        c d\n",
    "other letters, and lines twice": "- name: a\n  content: |\n    \u65e5\u672c\u8a9e\n"
    "    emoji \U0001f469 here\n    same\n    same\n  role: x\n",
    "a printed value at the start, and deeper lines": "- name: a\n  content: |\n    {{ b }}\n      - c d\n"
    "    rest of it\n  role: user\n",
    "an anchor": "- name: &a\n  content: |\n    text\n    more\n- *a\n",
    "tags that print nothing": "{# one #}\n{% for m in ms %}\n- name: a {{ m }}\n  content: |\n"
    "    {{ m.text }}\n"
    "    text {{ m.b }}\n    {{ m.c | trim }}\n    {%- if m.d %} x {% elif m.e %}\n    y \n    {% endif -%}\n"
    "    {% set f = m.g %}\n    end \n{% endfor %}\n",
    "branches that need their conditions": "- name: a\n{% if a %}\n  content: |\n    one\n{% else %}\n"
    "  content: {{ b }}\n  content: [\n{% endif %}\n{% if c %}\n  role: user\n{% endif %}\n- x\n",
    "lines around a statement": "- name: a\n  content: |\n    One {{ b }} here.\n    {% if c %}\n"
    "    Two lines,\n    {%- endif %}\n    and more {# d #} of\n    it \n    all.\n  role: user\n- name: b\n",
    "an object": "instruction: |\n  First.\n  Second.\nexamples:\n  - text: |\n      one\n      two\n",
}
TYPED = (
    "x",
    " ",
    "{{",
    "}}",
    "{{ a }}",
    "\n",
    "\t",
    ":",
    "#",
    "'",
    "\u2028",
    "\u00e9",
    "two words",
    "",
    "-",
    "%}",
    "{% if y %}",
    "else",
)


def roots_of(source: Source) -> list[tuple[Node, ...]]:
    """The trees of all chunks."""
    return [chunk_yaml(chunk).roots for chunk in source.chunks]


@given(st.sampled_from(sorted(TEXTS.values())), st.data())
@settings(max_examples=400)
def test_the_trees_after_edits_in_several_lines_are_those_of_the_text_read_anew(
    text: str, data: st.DataObject
) -> None:
    """As with several cursors, or where many letters arrive together."""
    source = Source.of(text)
    for _ in range(4):
        roots_of(source)
        lines = source.text.split("\n")
        first = data.draw(st.integers(0, len(lines) - 1))
        last = data.draw(st.integers(first, min(first + 4, len(lines) - 1)))
        now = lines.copy()
        for number in {first, last, data.draw(st.integers(first, last))}:
            column = data.draw(st.integers(0, len(now[number])))
            typed = data.draw(st.sampled_from(TYPED))
            now[number] = now[number][:column] + typed + now[number][column + data.draw(st.integers(0, 2)) :]
        start = sum(len(line) + 1 for line in lines[:first])
        span = Span(start, start + len("\n".join(lines[first : last + 1])))
        old, new = source.slice(span), "\n".join(now[first : last + 1])
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
        source = source.edited(Span(span.start + same, span.end), new[same:])
        fresh = Source.of(source.text)
        assert roots_of(source) == roots_of(fresh)
        assert [chunk_yaml(chunk).problems for chunk in source.chunks] == [
            chunk_yaml(chunk).problems for chunk in fresh.chunks
        ]


@given(st.sampled_from(sorted(TEXTS.values())), st.data())
@settings(max_examples=400)
def test_the_trees_after_edits_are_those_of_the_text_read_anew(text: str, data: st.DataObject) -> None:
    source = Source.of(text)
    place = data.draw(st.integers(0, len(text)))
    for _ in range(6):
        roots_of(source)
        start = min(place, len(source))
        end = min(len(source), start + data.draw(st.sampled_from((0, 0, 1, 4))))
        typed = data.draw(st.sampled_from(TYPED))
        source = source.edited(Span(start, end), typed)
        place = data.draw(st.sampled_from((start, start + len(typed), max(start - 1, 0))))
        fresh = Source.of(source.text)
        assert roots_of(source) == roots_of(fresh)
        assert [chunk_yaml(chunk).problems for chunk in source.chunks] == [
            chunk_yaml(chunk).problems for chunk in fresh.chunks
        ]


@pytest.mark.parametrize(
    ("place", "is_retyped"),
    [
        ("cond {{ x", True),
        ("x }} line", True),
        ("line.\n    Third", True),
        ("irst line", True),
        ("|\n", False),
        (": line # no", True),
        ("ole", False),
    ],
)
def test_only_lines_of_plain_text_are_retyped(place: str, is_retyped: bool) -> None:
    text = TEXTS["lines with tags and signs"]
    source = Source.of(text)
    roots_of(source)
    offset = text.index(place)

    edited = source.edited(Span(offset, offset), "x")

    chunk = edited.located(offset).chunk
    before = source.located(offset).chunk
    assert (retyped(chunk, chunk_yaml(before).roots, is_read_together=True) is not None) is is_retyped


@pytest.mark.parametrize(
    ("line", "is_retyped"),
    [("Two lines,", True), ("and more", False), ("it ", True), ("all.", True)],
)
def test_lines_with_a_statement_between_them_are_retyped_together(line: str, is_retyped: bool) -> None:
    text = TEXTS["lines around a statement"]
    source = Source.of(text)
    roots_of(source)
    first, last = text.index(" here."), text.index(line) + 1

    edited = source.edited(Span(first, last), "x" + text[first:last] + "y")

    chunk = edited.located(first).chunk
    before = source.located(first).chunk
    assert (retyped(chunk, chunk_yaml(before).roots, is_read_together=True) is not None) is is_retyped


@pytest.mark.parametrize(
    ("place", "is_retyped"),
    [
        ("m.text }}", False),
        ("m.c |", True),
        ("m.d %}", True),
        ("elif m.e", False),
        ("m.g", True),
        ("one #", True),
    ],
)
def test_tags_that_print_nothing_are_retyped(place: str, is_retyped: bool) -> None:
    text = TEXTS["tags that print nothing"]
    source = Source.of(text)
    roots_of(source)
    offset = text.index(place) + 1

    edited = source.edited(Span(offset, offset), "x")

    chunk = edited.located(offset).chunk
    before = source.located(offset).chunk
    assert (retyped(chunk, chunk_yaml(before).roots, is_read_together=True) is not None) is is_retyped


def test_a_line_of_a_branch_that_was_left_out_is_not_taken_for_its_like_in_another() -> None:
    branches = "    {% if x %}\n    two\n    {% else %}\n    two\n{{ a }} x\n    {% endif %}\n"
    text = f"- name: a\n  content: |\n{branches}"
    source = Source.of(text)
    before = roots_of(source)
    offset = text.rindex("two") + 1

    edited = source.edited(Span(offset, offset), "x")

    assert len(before[0]) == 1
    assert roots_of(edited) == roots_of(Source.of(edited.text))


def test_what_a_printed_value_may_make_right_is_read_anew() -> None:
    text = "- a: b\n  role: xy\n  name: {{ a }}: b\n"
    source = Source.of(text)
    assert chunk_yaml(source.chunks[0]).roots == ()
    offset = text.index("y")

    edited = source.edited(Span(offset, offset), ": ")

    assert chunk_yaml(edited.chunks[0]).problems
