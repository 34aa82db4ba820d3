"""The analysis of a mapping in chunks equals the analysis of one chunk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.syntax.chunk import Chunk, cut
from promptls.syntax.language import JSON_FIELDS
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.under_jinja import ChunkYaml, chunk_yaml
from promptls.text.positions import Span
from support.example_counts import examples
from support.soundness import assert_same_as_fresh

LINES = (
    "name: a\n",
    "instruction: |\n  Say {{ word }}.\n\n  - no item\n",
    "instruction: >-\n  folded\n",
    "text: 'it''s\n  more'\n",
    'text: "a\nb: c"\n',
    'text: "open\n',
    "list: [a,\n  b]\n",
    "list: [a,\nb: 1]\n",
    "map: {a: 1}\n",
    "map:\n  a: 1\n  b:\n    - x\n    - y\n",
    "examples:\n",
    "examples: # some\n\n",
    "examples: []\n",
    "  - question: a\n    answer: b\n",
    "  - question: |\n      a: b\n    answer: 'c'\n",
    "  - [a, b]\n",
    "  -\n",
    " - a\n",
    "- a\n",
    "    - deeper\n",
    "infer:\n  template:\n    round:\n",
    "      - role: a\n        prompt: |\n          b: c\n",
    "    end:\n",
    "  retriever: 1\n",
    "  - item\n",
    "{% if a %}\n",
    "{% else %}\n",
    "{% endif %}\n",
    "{% for x in xs %}\n",
    "{% endfor %}\n",
    "{% if a -%}\n",
    "{%- endif %}\n",
    "{# a\nb: c #}\n",
    "{{ printed }}\n",
    "key: {{ value }}\n",
    "# comment\n",
    "\n",
    "no key\n",
    "a: b: c\n",
    "anchored: &x 1\n",
    "alias: *x\n",
    '"quoted key": 1\n',
    "? complex\n: value\n",
    "---\n",
    "...\n",
    "<<: {a: 1}\n",
    "dash:- a\n",
    "tab:\n\t- a\n",
)
TEXTS = st.lists(st.sampled_from(LINES), min_size=1, max_size=9).map("".join)
EDITS = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(0, 3),
        st.sampled_from(("", *LINES, "x", " ", "\n", "- ", ":", "{", '"')),
    ),
    max_size=6,
)


def as_one_chunk(text: str) -> ChunkYaml:
    """Return the YAML of a text without cuts."""
    (chunk,) = cut(text, at_items=False)
    return chunk_yaml(chunk)


JSON_LINES = (
    '  "name": "a",\n',
    '  "name": "a"\n',
    '  "examples": [\n',
    '    {\n      "a": 1\n    },\n',
    '    {\n      "a": [1,\n        2]\n    }\n',
    '    "b",\n',
    '    "b"\n',
    "  ],\n",
    "  ]\n",
    "    {},\n",
    '  "map": {\n    "a": 1\n  },\n',
    '  "text": "open\n',
    '  "text": "{{ a }} {% if b %}",\n',
    '  "half": "\\ud83d\\ude00",\n',
    "}\n",
    "{\n",
    "  # words,\n",
    "\n",
)
JSON_TEXTS = st.lists(st.sampled_from(JSON_LINES), max_size=9).map(
    lambda lines: "{\n" + "".join(lines) + "}\n"
)
JSON_EDITS = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(0, 3),
        st.sampled_from(("", *JSON_LINES, "x", " ", "\n", ",", "[", "]", "{", "}", '"')),
    ),
    max_size=6,
)


@given(JSON_TEXTS, JSON_EDITS)
@examples(300)
def test_the_yaml_of_the_chunks_of_json_is_that_of_the_text(
    text: str, edits: list[tuple[int, int, str]]
) -> None:
    source = Source.of(text, JSON_FIELDS)
    for start, length, typed in [(0, 0, ""), *edits]:
        begin = min(start, len(source))
        source = source.edited(Span(begin, min(begin + length, len(source))), typed)
        fresh = Source.of(source.text, JSON_FIELDS)
        whole = chunk_yaml(Chunk(source.text, (), reach=0))
        assert [chunk.text for chunk in source.chunks] == [chunk.text for chunk in fresh.chunks]
        assert (source.yaml.problems, source.yaml.roots) == (whole.problems, whole.roots)


def has_one_reading(text: str) -> bool:
    """Return whether branches cannot matter to how a text is read."""
    return "{% if" not in text


@given(TEXTS)
@examples(300)
def test_the_yaml_of_all_chunks_is_that_of_the_text(text: str) -> None:
    source = Source.of(f"first: 1\n{text}")

    if source.layout is Layout.MAPPING and has_one_reading(text):
        whole = as_one_chunk(source.text)
        assert source.yaml.problems == whole.problems
        assert source.yaml.roots == whole.roots


@given(TEXTS, EDITS)
@examples(300)
def test_an_edited_mapping_is_cut_as_its_whole_text_is(text: str, edits: list[tuple[int, int, str]]) -> None:
    source = Source.of(f"first: 1\n{text}")
    for start, length, typed in edits:
        begin = min(start, len(source))
        source = source.edited(Span(begin, min(begin + length, len(source))), typed)
        assert_same_as_fresh(source)
        fresh = Source.of(source.text)
        if source.layout is not Layout.LIST:
            assert source.yaml == fresh.yaml


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("{# a #}\nname: a\ninput_keys: [b]\n", ["{# a #}\n", "name: a\n", "input_keys: [b]\n"]),
        (
            "a: 1\nexamples:\n  - b: 2\n    c: 3\n  - b: 4\n",
            ["a: 1\n", "examples:\n", "  - b: 2\n    c: 3\n", "  - b: 4\n"],
        ),
        ("a: 1\nexamples:\n- b: 2\n- b: 4\n", ["a: 1\n", "examples:\n", "- b: 2\n", "- b: 4\n"]),
        (
            "a: 1\nb:\n  c:\n    - d\n    - e\n  f: 2\n  g: 3\nh: 4\n",
            ["a: 1\n", "b:\n  c:\n", "    - d\n", "    - e\n", "  f: 2\n  g: 3\n", "h: 4\n"],
        ),
        (
            "a: 1\n{% if x %}\nb: 2\nc: 3\n{% endif %}\nd: 4\n",
            ["a: 1\n{% if x %}\nb: 2\nc: 3\n{% endif %}\n", "d: 4\n"],
        ),
        ("a: 1\nb: 2 {# -#}\nc: 3\nd: 4\n", ["a: 1\n", "b: 2 {# -#}\nc: 3\n", "d: 4\n"]),
        ('a: 1\nb: "2\nc: 3"\nd: 4\n', ["a: 1\n", 'b: "2\nc: 3"\n', "d: 4\n"]),
        ('a: 1\nb: "2\nc: 3\nd: 4\n', ["a: 1\n", 'b: "2\n', "c: 3\n", "d: 4\n"]),
    ],
)
def test_a_mapping_is_cut_at_entries_and_items(text: str, chunks: list[str]) -> None:
    assert [chunk.text for chunk in Source.of(text).chunks] == chunks


@pytest.mark.parametrize(
    "text",
    [
        "Note: a\nSome words\n",
        "Some words\nNote: a\n",
        "a: &x 1\nb: *x\n",
        "a: 1\n...\nb: 2\n",
        "  a: 1\n  b: 2\n",
        "a: b\n" + "".join(f"k{number}:\n  - 'x\n  - y'\n" for number in range(2_000)),
    ],
    ids=lambda text: repr(text[:30]),
)
def test_other_texts_are_one_chunk(text: str) -> None:
    assert Source.of(text).layout is Layout.WHOLE
