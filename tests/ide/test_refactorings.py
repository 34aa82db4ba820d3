"""Refactorings: the resulting text, and that it renders to the same prompt where required."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptls.dialects.prompt_poet.template_rendering import render
from promptls.ide.refactor import offers
from promptls.ide.refactor.refactoring import Offer
from promptls.lint.rule import apply_edits
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace

ROOT = Path("/project")
MAIN = str(ROOT / "main.yml.j2")


def split(marked: str) -> tuple[str, Span]:
    """Return the text without its marks, and the selection between them; one mark is a cursor."""
    start, _, rest = marked.partition("«")
    inside, found, behind = rest.partition("»")
    return start + inside + behind, Span(len(start), len(start) + (len(inside) if found else 0))


def workspace_with(files: dict[str, str]) -> Workspace:
    workspace = Workspace([ROOT])
    for name, text in files.items():
        workspace.open(str(ROOT / name), text, 1)
    return workspace


def offered(marked: str, name: str, **others: str) -> Offer | None:
    text, span = split(marked)
    named = {key.replace("__", "/") + ".yml.j2": value for key, value in others.items()}
    snapshot = workspace_with({"main.yml.j2": text, **named}).snapshot
    return dict(offers(snapshot, MAIN, span)).get(name)


def refactored(marked: str, name: str, **others: str) -> dict[str, str]:
    """Return the files after the refactoring, by name."""
    offer = offered(marked, name, **others)
    assert offer is not None, "it is not offered"
    assert not offer.reason, offer.reason
    change = offer.change()
    files = {str(Path(path).relative_to(ROOT)): text for path, text in change.new_files.items()}
    return {"main.yml.j2": apply_edits(split(marked)[0], change.edits), **files}


def messages(files: dict[str, str], data: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
    unsaved = {str(ROOT / name): text for name, text in files.items()}
    prompt = render(MAIN, data, unsaved=unsaved)
    return [(part.name, part.role, part.content) for part in prompt.parts]


def assert_same(marked: str, files: dict[str, str], data: dict[str, Any], **others: str) -> None:
    named = {key.replace("__", "/") + ".yml.j2": value for key, value in others.items()}
    before = messages({"main.yml.j2": split(marked)[0], **named}, data)
    assert messages({**named, **files}, data) == before


# -- sections -----------------------------------------------------------------


def test_a_part_becomes_a_section_file_and_comes_back() -> None:
    text = """\
- name: first
  content: a
- name: Output format!
  role: system
  content: |
    Answer {{ «x }} in
    {% if y %}JSON{% endif %}.

- name: last
  content: b
"""
    files = refactored(text, "extract-section")

    assert files["main.yml.j2"] == (
        '- name: first\n  content: a\n{% include "sections/output_format.yml.j2" %}\n\n'
        "- name: last\n  content: b\n"
    )
    assert files["sections/output_format.yml.j2"].startswith("- name: Output format!\n")
    assert_same(text, files, {"x": "it", "y": True})
    back = refactored(
        files["main.yml.j2"].replace("{% include", "{% «include"),
        "inline-section",
        sections__output_format=files["sections/output_format.yml.j2"],
    )
    assert back["main.yml.j2"] == split(text)[0]


def test_the_file_of_a_section_gets_a_name_that_is_free() -> None:
    text = "- name: «a\n  content: b\n"

    files = refactored(text, "extract-section", sections__a="- name: other\n  content: c\n")

    assert set(files) == {"main.yml.j2", "sections/a_2.yml.j2"}


def test_a_part_in_a_loop_still_sees_the_loop_variable() -> None:
    text = "{% for t in ts %}\n- name: «a\n  content: '{{ t }}'\n{% endfor %}\n- name: b\n  content: c\n"

    files = refactored(text, "extract-section")

    assert files["main.yml.j2"].startswith(
        '{% for t in ts %}\n{% include "sections/a.yml.j2" %}\n{% endfor %}'
    )
    assert_same(text, files, {"ts": ["1x", "2x"]})


def test_a_part_is_moved_together_with_its_loop() -> None:
    text = "- name: «a\n  content: |\n    {% for t in ts %}{{ loop.index }}{{ t }} {% endfor %}\n"

    assert_same(text, refactored(text, "extract-section"), {"ts": ["x", "y"]})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% for t in ts %}\n- name: «a\n  content: {{ loop.index }}\n{% endfor %}\n", "`loop`"),
        ("- name: «a\n  content: '{% set x = 1 %}{{ x }}'\n- name: b\n  content: '{{ x }}'\n", "`x`"),
        ("{% if a %}\n- name: «a\n  content: |\n    b\n{%- endif %}\n- name: c\n  content: d\n", "trims"),
    ],
)
def test_a_part_that_would_mean_something_else_stays(text: str, reason: str) -> None:
    offer = offered(text, "extract-section")

    assert offer is not None
    assert reason in offer.reason


def test_a_section_with_a_header_is_inlined_without_it() -> None:
    text = '- name: a\n  content: b\n{% «include "s.yml.j2" %}\n- name: c\n  content: d\n'
    section = "{#---\nname: s\n---#}\n\n- name: s\n  content: |\n    {{ x }}\n"

    files = refactored(text, "inline-section", s=section)

    assert "name: s\n---" not in files["main.yml.j2"]
    assert_same(text, files, {"x": "y"}, s=section)


@pytest.mark.parametrize(
    ("include", "section", "reason"),
    [
        ('{% «include "s.yml.j2" without context %}', "- name: a\n  content: b\n", "without context"),
        ('{% «include "s.yml.j2" %}', "- name: a\n  content: {{ loop.index }}\n", "`loop`"),
        ('{% «include "s.yml.j2" %}\n{{ x }}', "{% set x = 1 %}\n- name: a\n  content: b\n", "`x`"),
        ('{%- «include "s.yml.j2" %}', "- name: a\n  content: b\n", "trims"),
    ],
)
def test_a_section_that_would_mean_something_else_stays(include: str, section: str, reason: str) -> None:
    offer = offered(f"- name: x\n  content: y\n{include}\n", "inline-section", s=section)

    assert offer is not None
    assert reason in offer.reason


# -- macros -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("- name: a\n  content: |\n    Hello «{{ x }} and {{ y | upper }}», you.\n", "excerpt(x, y)"),
        (
            "{#---\nname: n\n---#}\n- name: a\n  content: |\n    «Hi {{ x }}\n    {{ y }}»\n    end\n",
            "excerpt(x, y)",
        ),
        (
            "{% for t in ts %}\n- name: a\n  content: '«{{ t }}{{ loop.index }}»'\n{% endfor %}\n",
            "excerpt(t, loop)",
        ),
        ("- name: a\n  content: '«{% for t in ts %}{{ t }}{% endfor %}» {{ x }}'\n", "excerpt(ts)"),
        ("- name: a\n  content: |\n    «{{ escape_special_characters(x) }}»\n", "excerpt(x)"),
        ("- name: excerpt\n  content: '«plain»{{ excerpt }}'\n", "excerpt_2()"),
    ],
)
def test_selected_text_becomes_a_macro(text: str, call: str) -> None:
    files = refactored(text, "extract-macro")

    assert f"{{{{ {call} }}}}" in files["main.yml.j2"]
    assert_same(text, files, {"x": "ex", "y": "why", "ts": ["1x", "2x"]})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- name: a\n  content: {{ «x }} b»\n", "cuts a tag"),
        ("- name: a\n  content: '«{% if x %}b» c{% endif %}'\n", "cuts a block"),
        ("- name: a\n  content: 'z «{{- x }} b»'\n", "trims"),
        ("- name: a\n  content: 'z «{% set x = 1 %}» {{ x }}'\n", "`x`"),
    ],
)
def test_a_selection_that_is_no_macro_is_refused(text: str, reason: str) -> None:
    offer = offered(text, "extract-macro")

    assert offer is not None
    assert reason in offer.reason


# -- wrapping -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- name: a\n  content: |\n    x\n    «y\n    z»\n    end\n", id="lines of a text"),
        pytest.param("- name: a\n  content: |\n    «y\n    z»\n    end\n", id="the first lines"),
        pytest.param("- name: a\n  content: |\n    x\n\n    «y\n»    end\n", id="below a blank line"),
        pytest.param("- name: a\n  content: |\n    x  \n    «y  »\n", id="beside white space that is text"),
        pytest.param(
            "- name: a\n  content: |\n    x\n    «y»\n- name: b\n  content: c\n", id="the last line"
        ),
        pytest.param(
            "- name: a\n  content: b\n«- name: c\n  content: d\n»- name: e\n  content: f\n", id="a part"
        ),
        pytest.param("- name: a\n«  role: system»\n  content: b\n", id="a key"),
        pytest.param("- name: a\n  content: |\r\n    x\r\n    «y»\r\n    z\r\n", id="other line ends"),
    ],
)
def test_wrapped_lines_are_there_under_the_condition_and_gone_without_it(text: str) -> None:
    whole, span = split(text)
    without = whole[: whole.rfind("\n", 0, span.start) + 1] + whole[span.end :].lstrip("\r\n")

    files = refactored(text, "wrap-in-if")

    assert_same(text, files, {"condition": True})
    expected = messages({"main.yml.j2": without}, {})
    found = messages(files, {"condition": False})
    assert [(name, role, content.rstrip()) for name, role, content in found] == [
        (name, role, content.rstrip()) for name, role, content in expected
    ]


def test_tags_inside_a_text_leave_no_blank_line() -> None:
    files = refactored("- name: a\n  content: |\n    x\n    «y»\n    end\n", "wrap-in-if")

    assert files["main.yml.j2"] == (
        "- name: a\n  content: |\n    x\n    {%- if condition %}\n    y\n    {%- endif %}\n    end\n"
    )


def test_lines_are_repeated_by_a_loop() -> None:
    text = "- name: a\n  content: |\n    x\n    «y»\n    end\n"

    files = refactored(text, "wrap-in-for")

    assert messages(files, {"items": [1, 2]}) == [("a", "user", "x\ny\ny\nend")]


@pytest.mark.parametrize(
    "text",
    [
        "- name: a\n  content: |\n    «{% if x %}\n    y»\n    {% endif %}\n",
        "- name: a\n  content: |\n    «{{- x }}»\n",
        "{#---\n«name: a»\n---#}\n- name: a\n  content: b\n",
        "- name: p\n  content: q\n- {{ a }}: {{ c }}: x\n  content: |\n    «one\n    {{ b }}»\n    two\n",
    ],
)
def test_lines_that_cannot_be_wrapped_are_refused(text: str) -> None:
    offer = offered(text, "wrap-in-if")

    assert offer is not None
    assert offer.reason


# -- order ----------------------------------------------------------------------


def test_fixed_parts_of_a_role_come_first() -> None:
    text = """\
- name: «now
  role: system
  content: It is {{ date }}.

- name: rules
  role: system
  content: |
    Be brief.

- name: question
  content: '{{ q }}'

- name: fixed
  content: Go on.
"""
    files = refactored(text, "sort-parts")

    assert [name for name, _, _ in messages(files, {"date": "today", "q": "why"})] == [
        "rules", "now", "fixed", "question",
    ]  # fmt: skip
    assert sorted(messages(files, {"q": "x"})) == sorted(
        messages({"main.yml.j2": split(text)[0]}, {"q": "x"})
    )


@pytest.mark.parametrize(
    "text",
    [
        "- name: «a\n  content: b\n- name: c\n  content: '{{ d }}'\n",
        "- name: «a\n  role: user\n  content: '{{ b }}'\n- name: c\n  role: system\n  content: d\n",
        "- name: «a\n  content: '{{ b }}'\n{% include 'x' %}\n- name: c\n  content: d\n",
        "{% for a in b %}\n- name: «a\n  content: '{{ b }}'\n- name: c\n  content: d\n{% endfor %}\n",
    ],
)
def test_parts_in_order_or_that_cannot_move_are_left(text: str) -> None:
    assert offered(text, "sort-parts") is None


# -- declarations -----------------------------------------------------------------


def test_a_list_of_inputs_becomes_a_mapping_with_types_and_back() -> None:
    text = """\
{#---
name: a
input_keys: [«turns, x y]
output_key: b
---#}
- name: a
  content: |
    {% for turn in turns %}{{ turn.text }}{% endfor %}
"""
    files = refactored(text, "input-keys-form")

    assert "input_keys:\n  turns: {type: array}\n  x y: {}\noutput_key: b\n" in files["main.yml.j2"]
    back = refactored(files["main.yml.j2"].replace("turns:", "«turns:", 1), "input-keys-form")
    assert back["main.yml.j2"] == split(text)[0]


def test_a_mapping_with_a_comment_is_not_made_a_list() -> None:
    text = "{#---\ninput_keys:\n  «a: {}  # the first\n---#}\n- name: a\n  content: '{{ a }}'\n"

    offer = offered(text, "input-keys-form")

    assert offer is not None
    assert "comment" in offer.reason


def test_a_header_is_added_with_what_the_template_needs() -> None:
    text = (
        "«- name: a\n  content: |\n    {% for t in turns %}{{ t.text }}{% endfor %}\n"
        "    {{ escape_special_characters(q) }}\n"
    )

    files = refactored(text, "add-header")

    assert files["main.yml.j2"].startswith(
        "{#---\nname: main\ninput_keys:\n  q: {type: string}\n  turns: {type: array}\n---#}\n- name: a\n"
    )
    found = {finding.rule for finding in check(workspace_with(files).snapshot, MAIN)}
    assert not found & {"undeclared-input", "unused-input", "invalid-header", "input-type-mismatch"}
    assert_same(text, files, {"turns": [{"text": "x"}], "q": "why"})


def test_a_header_that_is_added_declares_the_functions_that_callers_pass() -> None:
    text = "«- name: a\n  content: |\n    {{ as_json(ticket) }} {{ escape_special_characters(q) }}\n"

    files = refactored(text, "add-header")

    assert "  as_json: {}\n" in files["main.yml.j2"]
    assert not list(check(workspace_with(files).snapshot, MAIN))


@pytest.mark.parametrize(
    ("header", "due"),
    [
        ("{#---\ninput_keys: [a]\n---#}\n", "input_keys: [a, b]\n"),
        ("{#---\ninput_keys:\n  a: {}\n---#}\n", "input_keys:\n  a: {}\n  b: {}\n"),
        ("{#---\nname: x\n---#}\n", "{#---\nname: x\ninput_keys: [b]\n---#}\n"),
        ("{#--- name: x ---#}\n", "{#--- name: x \n      input_keys: [b]\n---#}\n"),
        ("{#---\r\nname: x\r\n---#}\r\n", "{#---\r\nname: x\r\ninput_keys: [b]\r\n---#}\r\n"),
        ("", "input_keys:\n  a: {}\n  b: {}\n---#}\n"),
    ],
)
def test_an_input_is_declared_where_the_others_are(header: str, due: str) -> None:
    text = f"{header}- name: a\n  content: |\n    {{% if a %}}{{% endif %}} {{% if «b %}}{{% endif %}}\n"

    files = refactored(text, "declare-input")

    assert due in files["main.yml.j2"]


def test_what_is_declared_or_bound_is_no_input_to_declare() -> None:
    assert (
        offered("{#---\ninput_keys: [a]\n---#}\n- name: a\n  content: '{{ «a }}'\n", "declare-input") is None
    )
    assert offered("{% set a = 1 %}\n- name: a\n  content: '{{ «a }}'\n", "declare-input") is None


def test_a_prompt_is_converted_into_a_file_beside_it() -> None:
    text = "«instruction: Answer.\ninput_keys: [q]\noutput_key: a\noutput_type: str\n"

    files = refactored(text, "convert-file")

    assert files["main.yml.j2"] == split(text)[0]
    assert messages({"main.yml.j2": files["main_parts.yml.j2"]}, {"q": "Who?"}) == [
        ("prompt", "user", "Answer.\n\nq: Who?\na: \n")
    ]


def test_what_a_conversion_loses_is_listed_in_the_new_file() -> None:
    text = "«- name: task\n  role: system\n  truncation_priority: 1\n  content: Answer {{ q }}.\n"

    files = refactored(text, "convert-file")

    assert files["main_object.yml.j2"].endswith(
        "{# Not carried over:\n  - the `truncation_priority` of `task`\n"
        "  - the roles (system): a prompt object is one message\n"
        "  - the place of the inputs: Ragas prints each of them again after the instruction\n"
        "  - `output_key` is `response`, as the template named none\n#}\n"
    )
    workspace = workspace_with(files)
    assert check(workspace.snapshot, str(ROOT / "main_object.yml.j2")) == ()


def test_a_prompt_with_tags_is_no_prompt_object() -> None:
    offer = offered("«- name: a\n  content: '{% if x %}b{% endif %}'\n", "convert-file")

    assert offer is not None
    assert offer.reason == "a tag of Jinja cannot be in a prompt object"


def test_nothing_is_offered_for_a_file_that_is_no_prompt() -> None:
    text = "- hosts: «all»\n  tasks: '{{ x }}'\n"

    found, span = split(text)

    assert list(offers(workspace_with({"main.yml.j2": found}).snapshot, MAIN, span)) == []
