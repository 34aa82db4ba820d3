"""The extension's `package.json` with the settings that the server reads from VS Code."""

from __future__ import annotations

import json
from typing import Any

from promptls.docgen.json_schemas import as_json, settings_schema

TITLE = "promptls"
"""The title of the generated block of settings; the others are the extension's own."""


def with_settings(package: str) -> str:
    """Return the text of `package.json` with every setting of the project in it."""
    manifest = json.loads(package)
    for block in manifest["contributes"]["configuration"]:
        if block["title"] == TITLE:
            block["properties"] = vscode_settings()
    return as_json(manifest)


def vscode_settings() -> dict[str, Any]:
    """Return the settings by name, in VS Code's format.

    Every default is null, which means the setting of the project.
    """
    schema = settings_schema()
    found: dict[str, Any] = {}
    for name, declared in schema["properties"].items():
        group = _resolved(declared, schema).get("properties") if "$ref" in declared else None
        for key, its in (
            {f"{name}.{inner}": its for inner, its in group.items()}.items() if group else ((name, declared),)
        ):
            found[f"promptls.{key}"] = _setting(_inlined(its, schema))
    return {name: {**setting, "order": order} for order, (name, setting) in enumerate(found.items(), start=1)}


def _setting(declared: dict[str, Any]) -> dict[str, Any]:
    default = declared.get("default")
    description = declared.get("description", "")
    if default not in (None, [], {}):
        description += f" When unset, the project's, else `{json.dumps(default)}`."
    rest = {key: value for key, value in declared.items() if key not in {"type", "default", "description"}}
    return {
        "type": [declared["type"], "null"],
        "default": None,
        "scope": "resource",
        **rest,
        "markdownDescription": description,
    }


def _inlined(value: Any, schema: dict[str, Any]) -> Any:
    """Return `value` with references inlined, since VS Code does not resolve them in settings."""
    if isinstance(value, list):
        return [_inlined(item, schema) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _inlined(its, schema) for key, its in _resolved(value, schema).items()}


def _resolved(declared: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in declared:
        return declared
    name = declared["$ref"].rpartition("/")[2]
    rest = {key: value for key, value in declared.items() if key != "$ref"}
    return {**schema["$defs"][name], **rest}
