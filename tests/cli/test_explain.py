from __future__ import annotations

import json

import pytest

from promptls.cli.main import main
from promptls.lint.registry import RULES


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_rules_page_is_printed_with_its_severity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unknown-role"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# unknown-role\n")
    assert "## Why is this bad?" in shown
    assert "Severity: warning." in shown


def test_an_unknown_rule_names_the_nearest_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unknown-rol"]) == 2
    assert "did you mean `promptls explain unknown-role`?" in capsys.readouterr().err


def test_without_a_rule_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [rule.name for rule in RULES]


def test_json_contains_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", "unknown-role"]) == 0
    assert json.loads(capsys.readouterr().out)["page"].startswith("Unknown role")


def test_on_a_terminal_the_page_is_laid_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["explain", "unknown-role"]) == 0
    assert "\033[" in capsys.readouterr().out


def test_the_rules_are_listed_with_severity_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0

    lines = capsys.readouterr().out.splitlines()
    for rule in RULES:
        assert any(
            line.split()[0] == rule.name and rule.severity in line and rule.summary in line
            for line in lines
            if line.strip()
        )


def test_the_rules_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--json"]) == 0

    assert [rule["name"] for rule in json.loads(capsys.readouterr().out)] == [rule.name for rule in RULES]
