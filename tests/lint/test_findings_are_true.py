"""Findings about parts agree with the rendering, and their fixes change nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import render
from promptls.lint.runner import RENDERING_RULES
from support.fixture import MAIN, found_in, opened

RENDERED = {rule.name for rule in RENDERING_RULES}
PART = "- name: a\n  content: |\n    Begin.\n"


def contents(folder: Path, text: str, data: Mapping[str, Any]) -> list[Any]:
    """Return the contents of the parts that the text renders to."""
    path = folder / MAIN
    path.write_text(text, "utf-8")
    return [part.content for part in render(str(path), data).parts]


def fixed(text: str, rule: str, title: str | None = None) -> str:
    """Return the text after a fix of the rule's first finding."""
    snapshot, _ = opened(text)
    found = found_in(snapshot, f"/project/{MAIN}", with_rendering=rule in RENDERED)
    findings = [each for each in found if each.rule == rule]
    fix = next(fix for fix in findings[0].fixes if title in {None, fix.title})
    for edit in sorted(fix.edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


@pytest.mark.parametrize(
    "body",
    [
        "    {% if b %}\n    one\n    {% else %}\n    two\n    {% endif %}\n    End.\n",
        "    {% for c in d %}\n    - {{ c }}\n    {% endfor %}\n    End.\n",
        "    {% for c in d %}\n    - {{ c }}\n    {% endfor %}\n",
        "    {# c #}\n    {% set e = 1 %}\n    {{ e }}\n",
        "    {% for c in d %}\n    {% if b %}\n    first\n    {% endif %}\n    {{ c }}\n    {% endfor %}\n",
    ],
)
def test_a_tag_leaves_blank_lines_and_its_fix_takes_only_them(body: str, tmp_path: Path) -> None:
    data = {"b": True, "d": ["x", "y", "z"]}
    text = PART + body

    (before,) = contents(tmp_path, text, data)
    (after,) = contents(tmp_path, fixed(text, "blank-line-from-tag"), data)

    assert [line for line in before.split("\n") if line.strip()] == after.split("\n")
    assert before != after


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"{PART}    {{{{ b }}}}\n", "Escape it"),
        (f"{PART}    {{{{ b }}}}\n", "Indent its lines"),
        (f"{PART}      {{{{ b | trim }}}}\n", "Escape it"),
    ],
)
def test_a_line_break_breaks_a_block_until_it_is_escaped(text: str, title: str, tmp_path: Path) -> None:
    data = {"b": "one\ntwo"}

    with pytest.raises(PromptPoetError):
        contents(tmp_path, text, data)
    (after,) = contents(tmp_path, fixed(text, "unescaped-multiline-input", title), data)

    assert [line.strip() for line in after.split("\n")] == ["Begin.", "one", "two"]


def test_a_line_break_becomes_a_space_in_quotes_until_it_is_escaped(tmp_path: Path) -> None:
    text = '- name: a\n  content: "{{ b }}"\n'
    data = {"b": "one\ntwo"}

    assert contents(tmp_path, text, data) == ["one two"]
    assert contents(tmp_path, fixed(text, "unescaped-multiline-input"), data) == ["one\ntwo"]


def test_an_unquoted_value_is_null_or_a_truth_value_until_it_is_a_block(tmp_path: Path) -> None:
    text = "- name: a\n  content: {{ b }}\n"

    assert contents(tmp_path, text, {"b": ""}) == [None]
    assert contents(tmp_path, text, {"b": "yes"}) == [True]
    assert contents(tmp_path, fixed(text, "unquoted-input"), {"b": "yes"}) == ["yes"]


@pytest.mark.parametrize("text", [f"{PART}    Answer: \n", "- name: a\n  content: 'Answer: '\n"])
def test_a_space_at_the_end_is_lost_until_it_is_marked(text: str, tmp_path: Path) -> None:
    (before,) = contents(tmp_path, text, {})
    (after,) = contents(tmp_path, fixed(text, "stripped-whitespace"), {})

    assert before.endswith("Answer:")
    assert after == f"{before} "


def test_a_written_line_break_is_one_and_stays_one_when_it_is_real(tmp_path: Path) -> None:
    text = f"{PART}    one\\ntwo\\n three\n"

    before = contents(tmp_path, text, {})

    assert before == ["Begin.\none\ntwo\n three"]
    assert contents(tmp_path, fixed(text, "literal-line-break"), {}) == before


def test_a_method_takes_the_place_of_a_key_until_it_is_in_brackets(tmp_path: Path) -> None:
    text = f"{PART}    {{{{ b.items | tojson }}}}\n"

    with pytest.raises(PromptPoetError):
        contents(tmp_path, text, {"b": {"items": [1]}})
    assert contents(tmp_path, fixed(text, "dict-method"), {"b": {"items": [1]}}) == ["Begin.\n[1]"]


def test_quotes_are_written_as_html_until_they_are_not(tmp_path: Path) -> None:
    text = f"{PART}    {{{{ b | escape }}}}\n"

    assert contents(tmp_path, text, {"b": '"'}) == ["Begin.\n&#34;"]
    assert contents(tmp_path, fixed(text, "html-escape"), {"b": '"'}) == ['Begin.\n"']


def test_the_first_of_two_keys_is_dropped(tmp_path: Path) -> None:
    text = "- name: a\n  content: one\n  content: two\n"

    assert contents(tmp_path, text, {}) == ["two"]
    assert contents(tmp_path, fixed(text, "duplicate-key"), {}) == ["two"]
