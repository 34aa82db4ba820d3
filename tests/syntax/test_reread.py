"""Of a mapping only what an edit has changed is read again; the trees are those of the text read anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.syntax.yaml.under_jinja import ChunkYaml, chunk_yaml
from promptls.text.positions import Span
from support.soundness import assert_same_as_fresh

pytestmark = pytest.mark.thorough

OBJECT = """\
{# a note #}
instruction: |
  Answer {{ question }}.
  # Be brief.
input_keys: [question,
  tone]
output_key: answer
examples:
  - question: "Why?"
    answer: |
      Because.

      Indeed.
  # another one
  - question: 'It''s
      so'
    answer: {a: 1, b: [2,
      3]}
  -
    question: plain words
    answer:
      deep:
      - 1
      - key: {{ tone }}
  - - nested
    - list
last: >-
  folded
  text
"""
TEXTS = {
    "an object": OBJECT,
    "an object with other line ends": OBJECT.replace("\n", "\r\n"),
    "an evaluation": "reader_cfg:\n  input_columns: [q]\ninfer_cfg:\n  prompt_template:\n    template:\n"
    '      round:\n      - role: HUMAN\n        prompt: "{q}: {{ x }}"\n      - role: BOT\n'
    "        prompt: |\n          {a}\n  retriever: {type: ZeroRetriever}\n",
    "blocks and tags between the lines": "{% set a = 1 %}\nb: {{ a }}\n{% if a %}\nc: 1\n{% endif %}\nd:\n"
    "  {{ a }}\ne: {# f #}\ng:\n  {% for h in i %}\n  - j: {{ h }}\n    k:\n  {% endfor %}\nl: |\n  {{ m }}\n"
    "  {%- if n %}\n  o\n  {%- endif %}\n  p\n-{# q #}\n",
    "empty values": "a:\nb:\n-\n-{# c #}\n- d:\n  e:\n\nf:\n? g\n: h\ni:\n  ? j\nk: l\n",
    "anchors and aliases": "a: &x |\n  one\n  two\nb: *x\nc:\n- &y {d: 1}\n- *y\n- e: *x\n  f: |\n"
    "    g\n    h\ni: *y\n",
    "macros above": "{% macro b() %}\nc: d\n{% endmacro %}\na: |\n  b\nc:\n- d\n- e: f\n",
    "a list below a macro": "{% macro b() %}\nhello\n{% endmacro %}\n- name: b\n  content: c\n- name: d\n",
    "all in brackets": '{\n  "a": "b",\n  "c": [\n    {"d": "e {{ f }}", "g": [1, 2,\n      {"h": null}]},\n'
    '    {"d": "\\ud83d\\ude00", "g": [],},  # i\n    [j, k: l],\n  ],\n  m: n o\n    p, "q":"r"\n}\n',
    "a document that begins": "%YAML 1.1\n---\na: b\nc: [d]\n...\n",
}
TYPED = (
    "x", " ", "  ", "\n", "\n  ", "\t", "\r", "'", '"', ":", ": ", "- ", "-", "#", " #", "|", "[", "]", "{",
    "}", "&a ", "*x", "? ", "!t ", "%", "---\n", "...\n", "\u2028", "\ufeff", "{{ y }}", "{{", "}}", "{%",
    "%}", "{#", "#}", "{% if a %}", "{% endif %}", "{%- if a -%}", "{% set a = 1 %}", "  {# c #}\n", "# c\n",
    "key: v\n", "  k: v\n", "- a\n", "  - question: q\n    answer: r\n", "",
)  # fmt: skip


def yaml_of(source: Source) -> list[tuple[object, ...]]:
    """What is known of the YAML of all chunks, without how it was found."""
    found = map(chunk_yaml, source.chunks)
    return [(yaml.roots, yaml.problems, yaml.aliases, yaml.is_read_together) for yaml in found]


@given(st.sampled_from(sorted(TEXTS)), st.data())
@settings(max_examples=200)
def test_the_trees_after_edits_are_those_of_the_text_read_anew(name: str, data: st.DataObject) -> None:
    source = Source.of(TEXTS[name])
    place = data.draw(st.integers(0, len(source)))
    undone: list[tuple[Span, str]] = []
    for _ in range(6):
        yaml_of(source)
        if data.draw(st.booleans()) and undone:
            span, typed = undone.pop()
        else:
            start = min(place, len(source))
            end = min(len(source), start + data.draw(st.sampled_from((0, 0, 0, 1, 4, 30))))
            span, typed = Span(start, end), data.draw(st.sampled_from(TYPED))
            undone.append((Span(start, start + len(typed)), source.text[start:end]))
        source = source.edited(span, typed)
        place = data.draw(st.sampled_from((span.start, span.start + len(typed), max(span.start - 1, 0))))
        assert_same_as_fresh(source)
        assert yaml_of(source) == yaml_of(Source.of(source.text))


def edited(text: str, place: str, typed: str, removed: str = "") -> tuple[ChunkYaml, ChunkYaml]:
    """The YAML of a mapping ahead of an edit behind `place`, and after it."""
    source = Source.of(text)
    before = chunk_yaml(source.first_chunk)
    offset = text.index(place) + len(place)
    assert text.startswith(removed, offset)
    after = source.edited(Span(offset, offset + len(removed)), typed)
    assert yaml_of(after) == yaml_of(Source.of(after.text))
    return before, chunk_yaml(after.first_chunk)


def last_example(root: Node) -> Node:
    """The core of the last example, which is the same object as long as nothing of it is read again."""
    assert isinstance(root, Mapping)
    examples = root.value("examples")
    assert isinstance(examples, Sequence)
    last = examples.items[-1]
    assert isinstance(last, Sequence)
    return last.core


@pytest.mark.parametrize(
    ("place", "typed", "removed"),
    [
        ('"Wh', "o", ""),
        ("plain wo", "o", ""),
        ("{a: 1", "2, c: 3", ""),
        ("Indeed.\n", "      More.\n", ""),
        ('"Why?', "' ", ""),
        ("  # another one\n", "  - question: b\n    answer: c\n", ""),
        ("# another one", "\n", "\n  - question: 'It''s\n      so'\n    answer: {a: 1, b: [2,\n      3]}\n"),
        ("answer", " ", ""),
        ("b: [2", ", 4", ""),
    ],
)
def test_what_an_edit_leaves_alone_is_not_read_again(place: str, typed: str, removed: str) -> None:
    before, after = edited(OBJECT, place, typed, removed)

    assert last_example(after.roots[0]) is last_example(before.roots[0])


def test_a_quote_that_breaks_and_is_mended_leaves_the_rest_of_the_tree_as_it_was() -> None:
    source = Source.of(OBJECT)
    before = chunk_yaml(source.first_chunk).roots[0]
    offset = OBJECT.index("hy?")

    source = source.edited(Span(offset, offset), '"')
    assert chunk_yaml(source.first_chunk).problems
    source = source.edited(Span(offset, offset), "x")
    assert chunk_yaml(source.first_chunk).problems
    source = source.edited(Span(offset + 1, offset + 2), "")
    after = chunk_yaml(source.first_chunk).roots[0]

    assert after == chunk_yaml(Source.of(source.text).first_chunk).roots[0]
    assert last_example(after) is last_example(before)


def test_of_a_list_in_brackets_only_the_item_with_the_edit_is_read_again() -> None:
    text = '{"a": [\n  {"b": "c"},\n  {"b": "d"}\n]}\n'
    before, after = edited(text, '"c', "x")

    items = [root.value("a") for root in (before.roots[0], after.roots[0]) if isinstance(root, Mapping)]
    (_, was), (_, now) = (each.items for each in items if isinstance(each, Sequence))
    assert isinstance(was, Mapping)
    assert isinstance(now, Mapping)
    assert now.core is was.core


@pytest.mark.parametrize(
    ("place", "typed"),
    [
        ('{"b": "c', '" '),
        ('{"b": ', "["),
        ('{"b": ', "{"),
        ('"c"}', "}"),
        ('"c"', " # "),
        ('{"b": ', "&x "),
        ('{"b": "c"},\n  ', "!t "),
        ('{"b": "c"', ", ? d"),
        ('{"b": "c"', ', "\\ud83d": e'),
    ],
)
def test_what_does_not_end_in_its_brackets_gives_the_error_of_a_fresh_reading(place: str, typed: str) -> None:
    edited('{"a": [\n  {"b": "c"},\n  {"b": "d"}\n]}\n', place, typed)
    edited('instruction: x\na: [\n  {"b": "c"},\n  {"b": "d"},\n]\ne: f\n', place, typed)


@pytest.mark.parametrize(
    ("text", "place", "typed"),
    [
        ("a: b\nc: d\n", "c", "\n---\ne"),
        ("a: &x b\nc: *x\nd: e\n", "&x b", "b"),
        ("a: b\nc: d\n", "c: d", "\n...\n"),
        ("a:\n  - b\n  - c\nd: e\n", "- c", "\n - f"),
        ("a: b\nc: d\ne: f\n", "c: ", '"'),
        ("a: b\nc: &x d\ne: f\n", "e: ", "&x "),
    ],
)
def test_what_may_mean_more_than_its_lines_is_read_as_a_whole(text: str, place: str, typed: str) -> None:
    edited(text, place, typed)
