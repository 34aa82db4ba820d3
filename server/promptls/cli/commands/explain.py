"""`promptls explain`: the page of a rule, or the list of all rules."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from promptls.cli.safe_stream import inside
from promptls.cli.terminal import Column, TableRow, print_json, table, wants_color
from promptls.text.errors import UsageError
from promptls.text.suggest import nearest

if TYPE_CHECKING:
    from promptls.lint.rule import Rule

DESCRIPTION = """\
Print the page of a rule: what it finds, why that is bad, and an example with the fix.
Without a rule, list all rules.

examples:
  promptls explain                       all rules with their severities
  promptls explain undeclared-input      the page of one rule"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rule and the output's form."""
    parser.add_argument("rule", nargs="?", metavar="RULE", help="name of the rule, as printed by `check`")
    parser.add_argument("--json", action="store_true", help="print JSON, with the page as Markdown")


def execute(arguments: argparse.Namespace) -> int:
    """Print the page or the list; raises UsageError for an unknown rule."""
    if arguments.rule is None:
        print_list(as_json=arguments.json)
        return 0
    rule = rule_named(arguments.rule)
    if arguments.json:
        print_json(rule_json(rule))
    else:
        _print_page(rule)
    return 0


def rule_named(name: str) -> Rule:
    """Return the rule with this name; raises UsageError with the most similar name."""
    from promptls.lint.registry import RULES_BY_NAME

    rule = RULES_BY_NAME.get(name)
    if rule is None:
        near = nearest(name, RULES_BY_NAME)
        raise UsageError(
            f"there is no rule `{name}`",
            remedy=f"did you mean `promptls explain {near}`?"
            if near
            else "`promptls explain` lists the rules",
        )
    return rule


def print_list(*, as_json: bool) -> None:
    """Print all rules as a table or as JSON."""
    from promptls.lint.registry import RULES

    if as_json:
        print_json([rule_json(rule) for rule in RULES])
        return
    columns = (Column("rule"), Column("severity"), Column("what it finds"))
    print(table(columns, [TableRow((rule.name, rule.severity, rule.summary)) for rule in RULES]))


def _print_page(rule: Rule) -> None:
    page = f"# {rule.name}\n\n{rule.page}\n\nSeverity: {rule.severity}. Since promptls {rule.since}."
    if not wants_color(sys.stdout):
        print(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    # Pygments has a lexer for YAML with Jinja; the one for plain YAML marks every tag as an error.
    colored = Markdown(page.replace("```yaml\n", "```yaml+jinja\n"), code_theme="ansi_dark")
    Console(file=inside(sys.stdout), highlight=False, force_terminal=True).print(colored)


def rule_json(rule: Rule) -> dict[str, str]:
    """Return the rule with its page."""
    return {
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.summary,
        "since": rule.since,
        "page": rule.page,
    }
