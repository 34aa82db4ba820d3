"""The files of a checkout that are generated from declarations, and their content."""

from __future__ import annotations

from pathlib import Path

from promptls.docgen.json_schemas import as_json, header_schema, settings_schema
from promptls.docgen.key_variables import key_variables
from promptls.docgen.metrics_page import metrics_page
from promptls.docgen.pages import rule_page, rules_page, settings_page
from promptls.docgen.vscode_settings import with_settings
from promptls.docgen.wire_types import WIRE_TYPES, wire_types
from promptls.lint.registry import RULES

KEY_VARIABLES = "vscode-client/src/keyVariables.ts"
PACKAGE = "vscode-client/package.json"
RULE_PAGES = "server/promptls/lint/pages"
"""Part of the package, so that editors can open a rule's page offline."""


def generated_files(checkout: Path) -> dict[Path, str]:
    """Return the current text of each generated file of the checkout, by its path."""
    return {
        checkout / "docs" / "rules.md": rules_page(),
        checkout / "docs" / "metrics.md": metrics_page(),
        checkout / "docs" / "settings.md": settings_page(),
        checkout / "schemas" / "settings.schema.json": as_json(settings_schema()),
        checkout / "schemas" / "header.schema.json": as_json(header_schema()),
        checkout / KEY_VARIABLES: key_variables(),
        **{checkout / WIRE_TYPES / name: text for name, text in wire_types().items()},
        checkout / PACKAGE: with_settings((checkout / PACKAGE).read_text("utf-8")),
        **{checkout / RULE_PAGES / f"{rule.name}.md": rule_page(rule) for rule in RULES},
    }


def stale_files(checkout: Path) -> list[Path]:
    """Return the generated files that are out of date or missing."""
    return [
        path
        for path, text in generated_files(checkout).items()
        if not path.is_file() or path.read_text("utf-8") != text
    ]
