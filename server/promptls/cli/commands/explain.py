"""`promptls explain`: the page of a rule, or the list of all rules."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from promptls.cli.output.table import Column, Row, table
from promptls.cli.output.terminal import print_json, wants_colour
from promptls.text.failure import WrongUse
from promptls.text.nearest import nearest

if TYPE_CHECKING:
    from promptls.rules.rule import Rule

SUMMARY = "say what a rule means"

DESCRIPTION = """\
Prints the page of a rule: what it finds, why that is bad, and an example with its
mended form. Without a rule, lists all rules.

examples:
  promptls explain                       every rule, with its severity
  promptls explain undeclared-input      one rule's page"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the rule and the output's form."""
    parser.add_argument("rule", nargs="?", metavar="RULE", help="the name of a rule, as `check` prints it")
    parser.add_argument("--json", action="store_true", help="print JSON, with the page as Markdown")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the page or the list; raises WrongUse for a rule that is not there."""
    from promptls.rules.registry import RULES, RULES_BY_NAME

    if arguments.rule is None:
        print_list(RULES, as_json=arguments.json)
        return 0
    rule = RULES_BY_NAME.get(arguments.rule)
    if rule is None:
        near = nearest(arguments.rule, RULES_BY_NAME)
        raise WrongUse(
            f"there is no rule `{arguments.rule}`",
            remedy=f"did you mean `promptls explain {near}`?"
            if near
            else "`promptls explain` lists the rules",
        )
    if arguments.json:
        print_json(_as_json(rule))
    else:
        _print_page(rule)
    return 0


def print_list(rules: tuple[Rule, ...], *, as_json: bool) -> None:
    """Prints the rules as a table or as JSON."""
    if as_json:
        print_json([_as_json(rule) for rule in rules])
        return
    columns = (Column("rule"), Column("severity"), Column("what it finds"))
    print(table(columns, [Row((rule.name, rule.severity, rule.summary)) for rule in rules]))


def _print_page(rule: Rule) -> None:
    import sys

    page = f"# {rule.name}\n\n{rule.page}\n\nSeverity: {rule.severity}. Since promptls {rule.since}."
    if not wants_colour(sys.stdout):
        print(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    # Pygments has a lexer for both languages at once, while that for YAML marks every tag as an error.
    coloured = Markdown(page.replace("```yaml\n", "```yaml+jinja\n"), code_theme="ansi_dark")
    Console(highlight=False, force_terminal=True).print(coloured)


def _as_json(rule: Rule) -> dict[str, str]:
    return {
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.summary,
        "since": rule.since,
        "page": rule.page,
    }
