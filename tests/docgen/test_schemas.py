from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from promptls.docgen.generated_files import vscode_settings
from promptls.docgen.json_schemas import header_schema, settings_schema
from promptls.lint.registry import RULES
from promptls.settings.project import Project


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


def test_settings_that_no_form_can_edit_have_valid_examples() -> None:
    schema = settings_schema()
    found = {name: each["examples"] for name, each in schema["properties"].items() if "examples" in each}

    assert sorted(found) == ["experiments", "meta_templates", "metrics", "models", "rate_limits"]
    for name, examples in found.items():
        for example in examples:
            jsonschema.validate({name: example}, schema)
            Project.model_validate({name: example})


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


def test_settings_of_an_editor_have_fields_in_its_form_and_show_the_defaults() -> None:
    settings = vscode_settings()
    assert (settings["promptls.encoding"]["type"], settings["promptls.encoding"]["default"]) == (
        "string",
        "o200k_base",
    )
    # Only numbers have a field that may be empty.
    assert all(
        setting["type"] in (["integer", "null"], ["number", "null"]) or isinstance(setting["type"], str)
        for setting in settings.values()
    )


def test_severities_of_rules_have_fields_in_the_form_of_an_editor() -> None:
    # VS Code shows only a link to `settings.json` if one value has no plain type, or others are allowed.
    rules = vscode_settings()["promptls.rules"]
    assert rules["additionalProperties"] is False
    assert {severity["type"] for severity in rules["properties"].values()} == {"string"}


def test_groups_of_settings_are_set_one_by_one_in_an_editor() -> None:
    settings = vscode_settings()
    assert {"promptls.rendering.timeout", "promptls.inlayHints.tokens"} <= set(settings)
    assert "promptls.rendering" not in settings


def test_settings_of_an_editor_refer_to_nothing() -> None:
    assert "$ref" not in repr(vscode_settings())
