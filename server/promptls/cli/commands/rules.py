"""`promptls rules`: every rule, with its severity and what it finds."""

from __future__ import annotations

import argparse

SUMMARY = "list the rules"

DESCRIPTION = """\
Lists every rule with its own severity and what it finds; `promptls explain RULE` prints
the page of one. Severities are set under `rules` in `promptls.toml`.

examples:
  promptls rules
  promptls rules --json | jq '.[].name'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the output's form."""
    parser.add_argument("--json", action="store_true", help="print JSON, with each rule's page as Markdown")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the list."""
    from promptls.cli.commands.explain import print_list
    from promptls.rules.registry import RULES

    print_list(RULES, as_json=arguments.json)
    return 0
