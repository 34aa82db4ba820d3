from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from promptls.ide.ranges import folds, linked_places, selections
from promptls.syntax.source import Source
from support.fixture import MAIN, opened
from support.texts import OWN, example_texts

PATH = str(Path("/project") / MAIN)
PROMPT = """\
{#---
name: greeting
examples:
  - text: hi
    response: ho
  - {text: a, response: b}
---#}
{#
  a note
#}
{% for turn in turns %}
- name: a
  content: |
    Hello
    {% if x %}
    one
    {% else %}
    two
    {% endif %}
- name: b
  sections:
    - name: s
      content: x
{% endfor %}
"""


def folded_lines(text: str, most: int | None = None) -> list[tuple[int, int]]:
    return [(fold.first + 1, fold.last + 1) for fold in folds(opened(text)[0], PATH, most)]


def test_header_examples_comments_branches_parts_and_texts_fold_by_lines() -> None:
    assert folded_lines(PROMPT) == [
        (1, 6), (3, 6), (4, 5), (8, 10), (11, 23), (12, 19), (13, 19), (15, 16), (17, 18), (20, 23), (21, 23),
        (22, 23),
    ]  # fmt: skip


ENDING = """\
- name: a
  content: |
    {% if x %}
    Hello
    {% endif %}
    {{ x }}
    {# a note #}
- name: b
  sections:
    - name: s
      content: |
        {{ x }}
"""


def test_trailing_lines_that_consist_of_tags_fold_with_the_text() -> None:
    assert folded_lines(ENDING) == [(1, 7), (2, 7), (3, 4), (8, 12), (9, 12), (10, 12), (11, 12)]


def test_a_selection_grows_from_such_a_line_to_its_text_and_part() -> None:
    lines = [
        ENDING.count("\n", span.start, span.end) + 1
        for span in selections(opened(ENDING)[0], PATH, ENDING.index("{{ x"))
    ]
    assert [count for count in dict.fromkeys(lines) if count > 1] == [6, 7, 13]


def test_the_largest_of_too_many_folds_are_returned() -> None:
    assert folded_lines(PROMPT, 3) == [(11, 23), (12, 19), (13, 19)]


def test_while_a_block_is_open_everything_else_keeps_its_folds() -> None:
    text = PROMPT.replace("    Hello\n", "    Hello {% if\n")

    assert folded_lines(text) == folded_lines(PROMPT)
    unclosed = PROMPT.replace("    Hello\n", "    Hello {% if y %}\n")
    assert (20, 23) in folded_lines(unclosed)
    assert (15, 16) in folded_lines(unclosed)


def test_other_files_do_not_fold() -> None:
    assert folded_lines("- hosts: all\n  tasks:\n    - a\n    - b\n") == []


@pytest.mark.parametrize("text", [*OWN.values(), PROMPT, *example_texts().values()])
def test_folds_and_selections_of_every_beginning_are_nested_and_inside_the_text(text: str) -> None:
    for end in range(1, len(text) + 1, 37):
        source = Source.of(text[:end])
        snapshot = opened(text[:end])[0]
        spans: list[int] = []
        lines: list[int] = []
        for each in folds(snapshot, PATH):
            span = each.fold.span
            assert 0 <= span.start <= span.end <= end
            while spans and spans[-1] <= span.start:
                spans.pop()
            assert not spans or span.end <= spans[-1]
            spans.append(span.end)
            assert 0 <= each.first < each.last <= source.line_column(end).line
            while lines and lines[-1] < each.first:
                lines.pop()
            assert not lines or each.last <= lines[-1]
            lines.append(each.last)
        for offset in range(0, end + 1, 17):
            grown = selections(snapshot, PATH, offset)
            assert grown[-1] == (0, end)
            assert grown[0].start <= offset <= grown[0].end
            for inner, outer in pairwise(grown):
                assert outer.start <= inner.start <= inner.end <= outer.end
                assert inner != outer


def grown(fixture: str) -> list[str]:
    snapshot, files = opened(fixture)
    marked = files[MAIN]
    assert marked.cursor is not None
    return [marked.text[span.start : span.end] for span in selections(snapshot, PATH, marked.cursor)]


def test_a_selection_grows_from_the_word_to_the_file() -> None:
    found = grown("""\
- name: a
  content: |
    Hi
    {% if user.na<CURSOR>me | trim == 'x' %}yes{% endif %}
- name: b
  content: x
""")

    tag = "{% if user.name | trim == 'x' %}"
    text = f"    Hi\n    {tag}yes{{% endif %}}"
    part = f"name: a\n  content: |\n{text}"
    assert found[:-1] == [
        "name",
        "user.name",
        "user.name | trim",
        "user.name | trim == 'x'",
        "if user.name | trim == 'x'",
        tag,
        f"{tag}yes",
        f"{tag}yes{{% endif %}}",
        f"    {tag}yes{{% endif %}}",
        text,
        f"|\n{text}",
        f"content: |\n{text}",
        part,
        f"- {part}",
    ]


def test_a_selection_in_the_header_grows_through_its_yaml() -> None:
    found = grown("{#---\nexamples:\n  - {text: 'a b<CURSOR>', x: 1}\n---#}\n- name: a\n  content: x\n")

    assert found[:6] == ["b", "a b", "'a b'", "text: 'a b'", "{text: 'a b', x: 1}", "- {text: 'a b', x: 1}"]


def linked(fixture: str) -> list[str]:
    snapshot, files = opened(fixture)
    marked = files[MAIN]
    assert marked.cursor is not None
    return [marked.text[span.start - 3 : span.end] for span in linked_places(snapshot, PATH, marked.cursor)]


@pytest.mark.parametrize(
    ("fixture", "places"),
    [
        ("- name: a\n  content: '{% i<CURSOR>f x %}{% elif y %}{% endif %}'\n", ["{% if", "endif"]),
        ("- name: a\n  content: '{% if x %}{% endi<CURSOR>f %}'\n", ["{% if", "endif"]),
        ("{% for<CURSOR> x in y %}\n- name: a\n  content: x\n{% endfor %}\n", ["{% for", "endfor"]),
        ("{% block a<CURSOR>b %}\n- name: a\n  content: x\n{% endblock ab %}\n", ["ck ab", "ck ab"]),
        ("{% block ab %}\n- name: a\n  content: x\n{% endblock ab<CURSOR> %}\n", ["ck ab", "ck ab"]),
        ("{% block a<CURSOR>b %}\n- name: a\n  content: x\n{% endblock %}\n", []),
        ("- name: a\n  content: '{% if x %}{% el<CURSOR>if y %}{% endif %}'\n", []),
        ("- name: a\n  content: '{% i<CURSOR>f x %}'\n", []),
        ("- name: a\n  content: '{{ te<CURSOR>xt }}{{ text }}'\n", []),
        ("- name: a\n  content: '{% if x %}{% e<CURSOR>ndif %}'\n", []),
    ],
)
def test_words_that_a_block_has_twice_are_typed_at_once(fixture: str, places: list[str]) -> None:
    assert linked(fixture) == places
