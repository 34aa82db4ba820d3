from __future__ import annotations

import json

import jsonschema
import pytest

from promptls.cli.main import main
from promptls.lint.registry import RULES


@pytest.mark.parametrize("of", ["settings", "header"])
def test_a_schema_is_printed_that_is_one(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", of]) == 0

    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "token_limit" in schema["properties"]


def test_a_schema_of_something_else_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


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
