from __future__ import annotations

import json

import jsonschema
import pytest

from promptls.cli.main import main


@pytest.mark.parametrize("of", ["settings", "header"])
def test_a_schema_is_printed_that_is_one(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", of]) == 0

    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "token_limit" in schema["properties"]


def test_a_schema_of_something_else_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err
