"""The tree-sitter queries, with the grammars that the editors install."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import tree_sitter_jinja
import tree_sitter_yaml
from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor, Range

QUERIES = Path(__file__).resolve().parents[2] / "grammars" / "queries"
EDITORS = ("neovim", "helix", "zed")
SAMPLE = """\
{#---
input_keys: [user, turns]
---#}
{% import "macros.yml.j2" as m %}
- name: greeting
  role: system
  content: |
    Hello {{ user.name | default("you") | title }}, {{ m.tone(level, 1.5) }}
    {% for turn in turns if turn is defined -%}
    {{ loop.index }}: {{ turn["text"] }}{# a note #}
    {% endfor %}
{%- if not short and depth == 2 %}
- name: details
  content: {{ details.long.text }}
{% elif other %}
{% else %}
{% endif %}
{% macro sign(who, mark=none) %}{% set line = true %}{% endmacro %}
{% raw %}{{ left }}{% endraw %}
{% include "end.yml.j2" ignore missing %}
"""
CAPTURES = {
    "{#---": "comment",
    "{# a note": "comment",
    "{{ user": "punctuation.special",
    "-%}": "punctuation.special",
    "import": "keyword.import",
    '"macros': "string",
    "user.": "variable",
    "name |": "variable.member",
    "default": "function.method.call",
    "title": "function.method.call",
    "tone": "function.call",
    "level": "variable",
    "1.5": "number.float",
    "for turn": "keyword.repeat",
    "in turns": "keyword.repeat",
    "is defined": "operator",
    "defined": "function.builtin",
    "loop": "variable.builtin",
    "index": "variable.member",
    '["text"': "punctuation.bracket",
    "endfor": "keyword.repeat",
    "if not": "keyword.conditional",
    "not": "operator",
    "2 %": "number",
    "long": "variable.member",
    "text }}": "variable.member",
    "elif": "keyword.conditional",
    "else": "keyword.conditional",
    "endif": "keyword.conditional",
    "macro sign": "keyword",
    "sign": "function.call",
    "mark": "variable.parameter",
    "none": "constant.builtin",
    "set": "keyword",
    "true": "boolean",
    "{{ left": "string",
    "{% endraw": "keyword",
    "include": "keyword.import",
    "ignore": "keyword",
}
"""Prefixes of words in the sample, each with its highlight group in Neovim."""


def language(module: object) -> Language:
    with warnings.catch_warnings():
        # The bindings of some grammars hand out a number where newer ones hand out a capsule.
        warnings.simplefilter("ignore", DeprecationWarning)
        return Language(module.language())  # type: ignore[attr-defined]


JINJA = language(tree_sitter_jinja)
YAML = language(tree_sitter_yaml)


def read(editor: str, name: str) -> str:
    return (QUERIES / editor / f"{name}.scm").read_text("utf-8")


def last_captures(text: str, query: str) -> dict[int, str]:
    """Return the capture of the token at each offset: the last matching pattern wins."""
    tree = Parser(JINJA).parse(text.encode())
    compiled = Query(JINJA, query)
    found: dict[int, tuple[int, str]] = {}
    for pattern, captures in QueryCursor(compiled).matches(tree.root_node):
        for name, nodes in captures.items():
            for node in nodes:
                found[node.start_byte] = max(found.get(node.start_byte, (-1, "")), (pattern, name))
    return {start: name for start, (_, name) in found.items()}


@pytest.mark.parametrize(
    "path", sorted(QUERIES.glob("*/*.scm")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_query_is_one_for_the_grammar(path: Path) -> None:
    assert Query(JINJA, path.read_text("utf-8")).pattern_count > 0


def test_the_grammar_reads_the_sample_without_an_error() -> None:
    assert not Parser(JINJA).parse(SAMPLE.encode()).root_node.has_error


@pytest.mark.parametrize(("word", "capture"), CAPTURES.items())
def test_a_word_is_taken_for_what_it_is(word: str, capture: str) -> None:
    found = last_captures(SAMPLE, read("neovim", "highlights"))
    places = [
        match.start() for match in re.finditer((r"\b" if word[0].isalnum() else "") + re.escape(word), SAMPLE)
    ]
    assert capture in {found.get(place) for place in places}


def shapes(editor: str) -> set[str]:
    """Return the patterns of an editor's highlights without captures, priorities and layout."""
    text = re.sub(r"^;.*$", "", read(editor, "highlights"), flags=re.MULTILINE)
    text = re.sub(r"\(#set! priority \d+\)|(?<=[\s)\]])@[\w.]+", "", text)
    blocks = (re.sub(r"\s+", "", block) for block in re.split(r"\n\n+", text))
    return {
        re.sub(r"^\((.*)\)$", r"\1", block) if block.startswith(("((", "([")) else block for block in blocks
    }


@pytest.mark.parametrize("editor", ["helix", "zed"])
def test_the_editors_differ_in_the_names_of_captures_alone(editor: str) -> None:
    def without_predicates(found: set[str]) -> set[str]:
        return {re.sub(r"\(#[^)]*\)", "", shape) for shape in found}

    assert without_predicates(shapes(editor)) == without_predicates(shapes("neovim"))


def injected(editor: str) -> tuple[list[Node], dict[int, dict[str, str | None]]]:
    tree = Parser(JINJA).parse(SAMPLE.encode())
    query = Query(JINJA, read(editor, "injections"))
    nodes = [
        node
        for pattern, captures in QueryCursor(query).matches(tree.root_node)
        for node in captures["injection.content"]
        if pattern == 0
    ]
    settings = {index: query.pattern_settings(index) for index in range(query.pattern_count)}
    return sorted(nodes, key=lambda node: node.start_byte), settings


@pytest.mark.parametrize("editor", EDITORS)
def test_text_around_the_tags_is_parsed_as_one_yaml_document(editor: str) -> None:
    nodes, settings = injected(editor)
    assert settings[0]["injection.language"] == "yaml"
    assert "injection.combined" in settings[0]
    parser = Parser(YAML)
    parser.included_ranges = [
        Range(Point(*node.start_point), Point(*node.end_point), node.start_byte, node.end_byte)
        for node in nodes
    ]
    tree = parser.parse(SAMPLE.encode())
    assert not tree.root_node.has_error
    keys = QueryCursor(Query(YAML, "(block_mapping_pair key: (_) @key)")).captures(tree.root_node)["key"]
    assert sorted({(node.text or b"").decode() for node in keys}) == ["content", "name", "role"]


def test_blocks_comments_and_the_header_fold() -> None:
    tree = Parser(JINJA).parse(SAMPLE.encode())
    folds = QueryCursor(Query(JINJA, read("neovim", "folds"))).captures(tree.root_node)["fold"]
    starts = {(node.text or b"").decode()[:8] for node in folds}
    assert {"{#---\nin", "{% for t", "{%- if n", "{% macro"} <= starts
