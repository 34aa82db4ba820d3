"""`promptls schema`: the JSON Schemas of settings and header."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
Print the JSON Schema of the project settings (`promptls.toml`) or of the header of a prompt
file, for editors and other programs.

examples:
  promptls schema settings > settings.schema.json
  promptls schema header | jq '.properties | keys'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of schema."""
    parser.add_argument(
        "of", choices=("settings", "header"), metavar="{settings,header}", help="what the schema describes"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    from promptls.docgen.json_schemas import as_json, header_schema, settings_schema

    print(as_json(settings_schema() if arguments.of == "settings" else header_schema()), end="")
    return 0
