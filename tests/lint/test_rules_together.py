from __future__ import annotations

import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from promptls.lint.runner import check
from promptls.workspace.workspace import Workspace
from support.fixture import check_findings

MAIN = "/project/main.yml.j2"


def rules_found(text: str, settings: dict[str, object] | None = None) -> list[tuple[str, str | None]]:
    """Return the name and severity of each finding."""
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


def test_an_invalid_severity_does_not_affect_the_others() -> None:
    assert rules_found(WRONG_ROLE, {"rules": {"unknown-role": "off", "empty-content": "loud"}}) == []


def test_a_role_that_the_settings_name_is_known() -> None:
    assert rules_found(WRONG_ROLE, {"roles": ["sytem"]}) == []


def test_a_syntax_error_leaves_open_what_a_comment_suppresses() -> None:
    text = "- name: a\n  role: user # promptls: ignore[unknown-role]\n  content: '{{ 1 | }}'\n"

    assert rules_found(text) == [("jinja-syntax", "error")]


def test_findings_on_a_value_remain_while_its_filter_is_typed() -> None:
    for typed in ("", "|", "| "):
        text = f"- name: a\n  role: user\n  content: '{{{{ b {typed}}}}}'\n"
        assert ("unescaped-multiline-input", "hint") in rules_found(text)


def test_a_schema_is_never_fetched_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)

    check_findings(
        "{#---\ninput_keys: [a]\noutput_key: b\noutput_schema: {$ref: 'http://localhost:1/schema.json'}\n"
        "examples:\n  - {a: 1, b: 2}\n---#}\n- name: p\n  content: {{ a }}\n"
    )


def test_a_pattern_cannot_block_the_check() -> None:
    started = time.process_time()

    rules_found(
        "{#---\ninput_keys: [a]\noutput_key: b\noutput_schema: {pattern: '^(x+x+)+y$'}\n"
        f"examples:\n  - {{a: 1, b: '{'x' * 60}!'}}\n---#}}\n- name: p\n  content: {{{{ a }}}}\n"
    )

    assert time.process_time() - started < 5
