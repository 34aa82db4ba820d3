"""`promptls rules`: all rules with severity and summary."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
List all rules with their default severities. `promptls explain RULE` prints the page of one.
Set severities under `rules` in `promptls.toml`.

examples:
  promptls rules
  promptls rules --json | jq '.[].name'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the output format."""
    parser.add_argument("--json", action="store_true", help="print JSON, with each rule's page as Markdown")


def execute(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from promptls.cli.commands.explain import print_list

    print_list(as_json=arguments.json)
    return 0
