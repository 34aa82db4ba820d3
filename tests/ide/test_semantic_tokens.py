from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from promptls.ide.semantic_token_legend import MODIFIERS, OWN_TYPES, TYPES
from promptls.ide.semantic_tokens import change, file_run, run_of_lines
from promptls.syntax.source import Source
from promptls.text.positions import PositionEncoding, Span
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.fixture import MAIN, opened
from support.texts import OWN, PARTS

PATH = str(Path("/project") / MAIN)


def absolute(numbers: tuple[int, ...]) -> list[tuple[int, int, int, int, int]]:
    """Return the tokens as line, column, length, type and modifiers."""
    found = []
    line = column = 0
    for index in range(0, len(numbers), 5):
        down, right, length, kind, modifiers = numbers[index : index + 5]
        line, column = line + down, right if down else column + right
        found.append((line, column, length, kind, modifiers))
    return found


def shown(text: str, encoding: PositionEncoding = PositionEncoding.UTF32) -> list[str]:
    """Return each token's text, type and modifiers."""
    lines = text.split("\n")
    return [
        " ".join(
            [
                lines[line][column : column + length],
                TYPES[kind],
                *(name for bit, name in enumerate(MODIFIERS) if modifiers >> bit & 1),
            ]
        )
        for line, column, length, kind, modifiers in absolute(
            file_run(opened(text)[0], PATH, encoding).numbers
        )
    ]


def test_hover_explains_jinja_keywords() -> None:
    text = """\
{% from 'm.j2' import greet as hello %}
{% set tone = user.name | trim %}
{% for turn in turns if turn is mapping %}
- name: a {{ loop.index }}
  role: user
  truncation_priority: 3
  content: |
    Be {{ tone }}, {{ turn['said'].strip() }}.
    {{ hello(mark=none) ~ range(2) }} # text
{% endfor %}
{# a note #}
"""
    assert shown(text) == [
        "{% tagDelimiter", "from keyword", "'m.j2' string", "import keyword", "greet function", "as keyword",
        "hello function declaration", "%} tagDelimiter",
        "{% tagDelimiter", "set keyword", "tone variable modification", "= operator", "user input",
        "name property", "| operator", "trim filter", "%} tagDelimiter",
        "{% tagDelimiter", "for keyword", "turn variable modification", "in operator", "turns input",
        "if keyword", "turn variable", "is operator", "mapping test", "%} tagDelimiter",
        "name key", "a partName declaration", "{{ outputDelimiter", "loop variable defaultLibrary",
        "index property", "}} outputDelimiter",
        "role key", "user role", "truncation_priority key", "3 number",
        "content key",
        "Be promptText", "{{ outputDelimiter", "tone variable", "}} outputDelimiter", ", promptText",
        "{{ outputDelimiter", "turn variable", "'said' string", "strip method", "}} outputDelimiter",
        ". promptText",
        "{{ outputDelimiter", "hello function", "mark parameter", "= operator", "none constant", "~ operator",
        "range function defaultLibrary", "2 number", "}} outputDelimiter", "# text promptText",
        "{% tagDelimiter", "endfor keyword", "%} tagDelimiter",
        "{# a note #} comment",
    ]  # fmt: skip


def test_the_header_is_yaml_and_not_a_comment() -> None:
    text = "{#---\nname: x\ninput_keys: {text: {type: string}}\n---#}\n- name: a  # why\n  content: x\n"

    assert shown(text) == [
        "{#--- comment", "name key", "x string", "input_keys key", "text key", "type key",
        "string string", "---#} comment", "name key", "a partName declaration", "# why comment",
        "content key", "x promptText",
    ]  # fmt: skip


def test_a_parameter_is_one_in_its_macro_only() -> None:
    text = "- name: a\n  content: x\n{% macro m(x) %}{{ x }}{{ m(1) }}{% endmacro %}{{ x }}\n"

    found = [word for word in shown(text) if word.split()[0] in {"x", "m"}]

    assert found == [
        "x promptText", "m function declaration", "x parameter declaration", "x parameter",
        "m function", "x input",
    ]  # fmt: skip


def test_a_broken_part_keeps_the_colors_of_its_keys_and_tags() -> None:
    text = "- name: 'a\n  content: {{ text | }\n- name: b\n  content: {% if x %}{{ y }}\n"

    assert [word for word in shown(text) if word.startswith(("name", "content", "text", "y", "b"))] == [
        "name key", "content key", "text input", "name key", "b partName declaration",
        "content key", "y input",
    ]  # fmt: skip


def test_columns_are_counted_in_the_unit_of_the_client() -> None:
    text = "- name: 🎉é\n  content: x\n"
    snapshot = opened(text)[0]

    widths = {
        encoding: [token[1:3] for token in absolute(file_run(snapshot, PATH, encoding).numbers)][1]
        for encoding in PositionEncoding
    }

    assert widths == {
        PositionEncoding.UTF32: (8, 2),
        PositionEncoding.UTF16: (8, 3),
        PositionEncoding.UTF8: (8, 6),
    }


def test_a_file_that_is_no_prompt_has_no_tokens() -> None:
    assert shown("- hosts: all\n  tasks: []\n") == []


@pytest.mark.parametrize("text", OWN.values(), ids=OWN.keys())
def test_tokens_are_ordered_by_position(text: str) -> None:
    for end in range(0, len(text), 7):
        source = Source.of(text[:end])
        behind = (0, 0)
        for line, column, length, _, _ in absolute(
            file_run(opened_source(source), PATH, PositionEncoding.UTF32).numbers
        ):
            assert (line, column) >= behind
            assert length > 0
            assert column + length <= len(source.line(line))
            behind = (line, column + length)


def opened_source(source: Source) -> Snapshot:
    workspace = Workspace([Path("/project")])
    workspace.put(PATH, source, 1)
    return workspace.snapshot


PIECES = [
    "{% set tone = 1 %}\n", "{% for turn in turns %}\n", "{% endfor %}\n", "{{ tone }}", "- name: x\n", "\n",
    "{% if", "%}", "'", "{% macro m(user) %}", "{% endmacro %}", "#", "x", "  content: |\n    y\n",
    "{% endif %}\n",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_edits_of_the_old_tokens_give_the_tokens_of_the_new_text(seed: int) -> None:
    chance = random.Random(seed)
    source = Source.of(PARTS * chance.choice([1, 4]))
    before = file_run(opened_source(source), PATH, PositionEncoding.UTF16)
    for _ in range(25):
        start = chance.randrange(len(source) + 1)
        span = Span(start, min(start + chance.choice([0, 0, 1, 5, 40]), len(source)))
        source = source.edited(span, chance.choice(PIECES))
        after = file_run(opened_source(source), PATH, PositionEncoding.UTF16)
        fresh = file_run(opened_source(Source.of(source.text)), PATH, PositionEncoding.UTF16)
        assert absolute(after.numbers) == absolute(fresh.numbers)
        edit = change(before.numbers, after.numbers)
        numbers = list(before.numbers)
        if edit is not None:
            numbers[edit.start : edit.start + edit.deleted] = edit.numbers
        assert tuple(numbers) == after.numbers
        before = after


def test_a_letter_more_changes_few_tokens_of_a_long_file() -> None:
    source = Source.of(PARTS + "- name: a\n  content: Hi {{ text }}\n" * 2000)
    place = source.text.rindex("Hi") - 20_000
    place = source.text.index("Hi", place)
    before = file_run(opened_source(source), PATH, PositionEncoding.UTF16)

    after = file_run(opened_source(source.edited(Span(place, place), "x")), PATH, PositionEncoding.UTF16)

    edit = change(before.numbers, after.numbers)
    assert edit is not None
    assert edit.deleted <= 10
    assert len(edit.numbers) <= 10


def test_the_tokens_of_a_range_are_those_of_its_lines() -> None:
    text = PARTS * 5
    snapshot = opened(text)[0]
    whole = absolute(file_run(snapshot, PATH, PositionEncoding.UTF16).numbers)

    for first in range(0, text.count("\n"), 9):
        last = first + 12
        found = absolute(run_of_lines(snapshot, PATH, PositionEncoding.UTF16, first, last).numbers)
        assert set(found) <= set(whole)
        assert [token for token in found if first <= token[0] <= last] == [
            token for token in whole if first <= token[0] <= last
        ]


def test_the_extension_declares_the_types_that_only_prompts_have() -> None:
    package = json.loads((Path(__file__).parents[2] / "vscode-client/package.json").read_text("utf-8"))
    declared = package["contributes"]["semanticTokenTypes"]
    (scopes,) = package["contributes"]["semanticTokenScopes"]

    assert {each["id"]: each["description"] for each in declared} == OWN_TYPES
    assert set(OWN_TYPES) <= set(scopes["scopes"])


def test_colors_are_those_of_the_grammar_where_it_can_know_them() -> None:
    root = Path(__file__).parents[2]
    package = json.loads((root / "vscode-client/package.json").read_text("utf-8"))
    grammar = (root / "grammars/yaml-jinja-prompt.tmLanguage.json").read_text("utf-8")
    (scopes,) = package["contributes"]["semanticTokenScopes"]

    # An input and a part's name are what the grammar cannot tell from other words.
    for name, listed in scopes["scopes"].items():
        if name not in {"input", "partName"}:
            assert any(scope in grammar for scope in listed), name
