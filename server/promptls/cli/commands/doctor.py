"""`promptls doctor`: diagnose the installation."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.terminal import Color, paint, print_json
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.cli.diagnosis import Check, State

DESCRIPTION = """\
Check what promptls needs and the extras that most people use: Python and its packages,
encodings, the embedded model, the settings of the current folder, keys, editors. For anything
missing, show how to add it; the last lines are the commands that install all of it. Keys are
named, never shown.

examples:
  promptls doctor               for people
  promptls doctor --json        for a bug report or a program

exit codes: 0 everything required works, 1 something required is broken"""

_MARKS: dict[State, tuple[str, Color]] = {
    "fine": ("✓", "green"),
    "absent": ("·", "dim"),
    "broken": ("✗", "red"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the output's form."""
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print every check; return 1 if a required component is broken."""
    from promptls.cli.diagnosis import diagnose, repairs

    checks = diagnose(Path.cwd())
    broken = [check for check in checks if check.state == "broken"]
    if arguments.json:
        print_json([asdict(check) for check in checks])
        return int(bool(broken))
    width = max(len(check.name) for check in checks)
    for topic, group in groupby(checks, key=lambda check: check.topic):
        print(paint(topic, "bold"))
        for check in group:
            print(_line(check, width))
        print()
    print(_conclusion(len(broken), repairs(checks)))
    return int(bool(broken))


def _line(check: Check, width: int) -> str:
    mark, color = _MARKS[check.state]
    line = f"  {paint(mark, color)} {check.name:<{width}}  {check.detail}"
    return f"{line}\n    {' ' * width}  → {check.remedy}" if check.remedy else line


def _conclusion(broken: int, commands: list[str]) -> str:
    said = f"{plural(broken, 'thing')} to fix." if broken else "Everything that promptls needs is installed."
    if not commands:
        return said
    ahead = "This installs what is missing" if broken else "This installs the optional packages"
    return "\n  ".join([f"{said} {ahead}:", *commands])
