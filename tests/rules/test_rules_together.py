from __future__ import annotations

import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from promptls.rules.checking.check import check
from promptls.workspace.workspace import Workspace
from support.fixture import check_findings, check_fix

MAIN = "/project/main.yml.j2"


def rules_found(text: str, settings: dict[str, object] | None = None) -> list[tuple[str, str | None]]:
    """The name and severity of each finding."""
    workspace = Workspace([Path("/project")])
    workspace.set_editor_settings(settings)
    workspace.open(MAIN, text, 1)
    return [(finding.rule, finding.severity) for finding in check(workspace.snapshot, MAIN)]


WRONG_ROLE = "- name: a\n  role: sytem\n  content: b\n"


def test_a_severity_can_be_set() -> None:
    assert rules_found(WRONG_ROLE) == [("unknown-role", "warning")]
    assert rules_found(WRONG_ROLE, {"rules": {"unknown-role": "hint"}}) == [("unknown-role", "hint")]
    assert rules_found(WRONG_ROLE, {"rules": {"unknown-role": "off"}}) == []


def test_a_severity_that_is_set_goes_before_a_milder_one_that_a_rule_gives() -> None:
    text = "prompt_template: {template: </E>Q}\nretriever: {type: ZeroRetriever}\n"
    assert rules_found(text) == [("missing-ice-token", "warning")]
    assert rules_found(text, {"rules": {"missing-ice-token": "hint"}}) == [("missing-ice-token", "hint")]


def test_a_severity_that_is_none_leaves_the_other_ones_alone() -> None:
    assert rules_found(WRONG_ROLE, {"rules": {"unknown-role": "off", "empty-content": "loud"}}) == []


def test_a_role_that_the_settings_name_is_known() -> None:
    assert rules_found(WRONG_ROLE, {"roles": ["sytem"]}) == []


def test_a_comment_silences_a_rule_on_its_line() -> None:
    check_findings("- name: a\n  role: sytem {# promptls: ignore[unknown-role] ours #}\n  content: b\n")


def test_a_comment_on_its_own_line_silences_a_rule_on_the_next() -> None:
    check_findings("- name: a\n  {# promptls: ignore[unknown-role] ours #}\n  role: sytem\n  content: b\n")


def test_a_comment_of_yaml_silences_as_one_of_jinja_does() -> None:
    check_findings(
        "- name: a\n  role: sytem # promptls: ignore[unknown-role] ours\n  content: b\n"
        "- name: c\n  # promptls: ignore[unknown-role]\n  role: sytem\n  content: d\n"
    )


def test_a_comment_silences_in_the_header() -> None:
    check_findings(
        "{#---\ninput_keys: [a] # promptls: ignore[unused-input] kept for later\n"
        "# promptls: ignore[invalid-header]\nowner: me\nteam: us\n^^^^ invalid-header\n---#}\n"
        "- name: b\n  content: c\n"
    )


def test_a_syntax_error_leaves_open_what_a_comment_silences() -> None:
    text = "- name: a\n  role: user # promptls: ignore[unknown-role]\n  content: '{{ 1 | }}'\n"

    assert rules_found(text) == [("jinja-syntax", "error")]


def test_what_is_found_of_a_value_stands_while_its_filter_is_typed() -> None:
    for typed in ("", "|", "| "):
        text = f"- name: a\n  role: user\n  content: '{{{{ b {typed}}}}}'\n"
        assert ("unescaped-multiline-input", "hint") in rules_found(text)


def test_what_looks_like_a_comment_in_a_text_is_part_of_it() -> None:
    check_findings(
        "- name: a\n  content: |\n    # promptls: ignore[unknown-role]\n"
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ invalid-suppression: this silences nothing: "
        "it is part of the text that the model gets\n  role: sytem\n        ^^^^^ unknown-role\n"
    )
    check_fix(
        "- name: a\n  content: |\n    b # promptls: ignore[unknown-role] ours\n",
        "- name: a\n  content: |\n    b {# promptls: ignore[unknown-role] ours #}\n",
        "Make it a comment of Jinja",
    )


def test_a_comment_silences_no_other_rule_and_no_other_line() -> None:
    check_findings(
        "- name: a\n"
        "  {# promptls: ignore[unknown-part-key, empty-content] #}\n"
        "  role: sytem\n"
        "        ^^^^^ unknown-role\n"
        "  content: b\n"
        "{# promptls: ignore[unknown-role] #}\n"
        "- name: b\n"
        "  role: usr\n"
        "        ^^^ unknown-role\n"
        "  content: b\n"
    )


def test_one_error_hides_no_other() -> None:
    check_findings(
        "- name: a\n"
        "  content: |\n"
        "    {{ b | }}\n"
        "           ^^ jinja-syntax\n"
        "- name: c\n"
        "  role: sytem\n"
        "        ^^^^^ unknown-role\n"
        "  content: d\n"
        "- name: e\n"
        "  content: 'd\n"
        "           ^^ yaml-syntax\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (WRONG_ROLE, WRONG_ROLE.replace("sytem", "system"), "Change to `system`"),
        ("- name: a\n  contnet: b\n", "- name: a\n  content: b\n", "Change to `content`"),
        ("- role: user\n  content: b\n", "- name: part\n  role: user\n  content: b\n", "Add a name"),
        (
            "{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: {{ txt }}{{ text }}\n",
            "{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: {{ text }}{{ text }}\n",
            "Change to `text`",
        ),
        (
            "{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: {{ more }}{{ text }}\n",
            "{#---\ninput_keys: [text, more]\n---#}\n- name: a\n  content: {{ more }}{{ text }}\n",
            "Add `more` to `input_keys`",
        ),
        (
            "{#---\ninput_kyes: [a]\n---#}\n- name: a\n  content: b\n",
            "{#---\ninput_keys: [a]\n---#}\n- name: a\n  content: b\n",
            "Change to `input_keys`",
        ),
    ],
)
def test_a_fix_makes_the_text_right(before: str, after: str, title: str) -> None:
    check_fix(before, after, title)


def test_a_schema_is_never_fetched_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)

    check_findings(
        "{#---\ninput_keys: [a]\noutput_key: b\noutput_schema: {$ref: 'http://localhost:1/schema.json'}\n"
        "examples:\n  - {a: 1, b: 2}\n---#}\n- name: p\n  content: {{ a }}\n"
    )


def test_a_pattern_cannot_hold_up_the_check() -> None:
    started = time.process_time()

    rules_found(
        "{#---\ninput_keys: [a]\noutput_key: b\noutput_schema: {pattern: '^(x+x+)+y$'}\n"
        f"examples:\n  - {{a: 1, b: '{'x' * 60}!'}}\n---#}}\n- name: p\n  content: {{{{ a }}}}\n"
    )

    assert time.process_time() - started < 5


def test_a_section_is_checked_with_the_includes_of_its_entry() -> None:
    check_findings(
        "-- main.yml.j2 --\n"
        "- name: a\n  content: b\n"
        "{% include 'sections/one.yml.j2' %}\n"
        "-- sections/one.yml.j2 --\n"
        "{% include 'sections/two.yml.j2' %}\n"
        "{% include 'three.yml.j2' %}\n"
        "-- sections/two.yml.j2 --\n"
        "- name: c\n  content: d\n"
        "-- three.yml.j2 --\n"
        "- name: e\n  content: f\n"
    )


def test_a_name_with_dots_leads_nowhere() -> None:
    check_findings(
        "-- main.yml.j2 --\n"
        "- name: a\n  content: b\n"
        "{% include '../main.yml.j2' %}\n"
        "           ^^^^^^^^^^^^^^^^ unresolved-include\n"
    )
