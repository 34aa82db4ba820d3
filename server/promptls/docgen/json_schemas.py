"""The JSON Schemas of the project's settings and of the header, from their pydantic models."""

from __future__ import annotations

import json
from typing import Any, get_args

from promptls.lint.registry import RULES
from promptls.settings.header import Header
from promptls.settings.project import Project, Severity

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """Return the schema of `promptls.toml`, including every rule."""
    schema = _without_null(_tidied(Project.model_json_schema()))
    for name, field in Project.model_fields.items():
        # pydantic omits defaults created by a function.
        default = field.get_default(call_default_factory=True)
        if isinstance(default, list) and default:
            schema["properties"][name]["default"] = default
    schema["properties"]["rules"] = rules_schema()
    return {"$schema": DRAFT, **schema, "title": "Settings of promptls"}


def header_schema() -> dict[str, Any]:
    """Return the schema of a prompt file's header."""
    return {"$schema": DRAFT, **_tidied(Header.model_json_schema()), "title": "Header of a prompt file"}


def rules_schema() -> dict[str, Any]:
    """Return the schema of the setting `rules`: the severities that each rule can have."""
    severities = list(get_args(Severity))
    return {
        "type": "object",
        "description": Project.model_fields["rules"].description,
        "properties": {rule.name: {"enum": severities, "description": rule.summary} for rule in RULES},
        "additionalProperties": False,
    }


def as_json(value: Any) -> str:
    """Return `value` as the text of a JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _without_null(value: Any) -> Any:
    """Return the schema without null alternatives, since TOML omits the key instead."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {key: _without_null(its) for key, its in value.items()}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if not choices:
        return schema
    rest = {key: its for key, its in schema.items() if key not in {"anyOf", "default"}}
    return {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}


def _tidied(value: Any, *, names: bool = False) -> Any:
    """Return the schema without pydantic's generated titles; `names` marks a mapping with names as keys."""
    if isinstance(value, list):
        return [_tidied(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _tidied(its, names=key in {"properties", "$defs"} and not names)
        for key, its in value.items()
        if names or key != "title"
    }
