from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from promptls.docgen.generated_files import vscode_settings
from promptls.docgen.schemas import header_schema, settings_schema
from promptls.lint.registry import RULES


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"token_limit": 100, "rules": {"unknown-role": "off"}},
        {"models": {"office": {"provider": "openai", "model": "m"}}, "rendering": {"timeout": 2.5}},
    ],
)
def test_valid_settings_keep_to_the_schema(settings: dict[str, Any]) -> None:
    jsonschema.validate(settings, settings_schema())


@pytest.mark.parametrize(
    "settings",
    [
        {"token_limit": 0},
        {"encodin": "x"},
        {"rules": {"unknown-rol": "off"}},
        {"rules": {"unknown-role": "loud"}},
    ],
)
def test_wrong_settings_do_not(settings: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(settings, settings_schema())


def test_a_header_keeps_to_the_schema() -> None:
    header = {
        "name": None,
        "input_keys": {"text": {"type": "string"}, "tone": None},
        "examples": [{"text": "a"}],
        "experiments": {"all": {"dataset": "rows.csv"}},
    }
    jsonschema.validate(header, header_schema())


def test_every_rule_is_a_setting() -> None:
    assert list(settings_schema()["properties"]["rules"]["properties"]) == [rule.name for rule in RULES]


def test_settings_of_an_editor_are_unset_at_first_so_that_the_projects_hold() -> None:
    settings = vscode_settings()
    assert settings["promptls.encoding"]["default"] is None
    assert all(setting["default"] is None and "null" in setting["type"] for setting in settings.values())


def test_groups_of_settings_are_set_one_by_one_in_an_editor() -> None:
    settings = vscode_settings()
    assert {"promptls.rendering.timeout", "promptls.inlay_hints.tokens"} <= set(settings)
    assert "promptls.rendering" not in settings


def test_settings_of_an_editor_refer_to_nothing() -> None:
    assert "$ref" not in repr(vscode_settings())
