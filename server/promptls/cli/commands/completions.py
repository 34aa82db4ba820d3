"""`promptls completions`: print a script that completes commands, options and files in a shell."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
Print a script with which a shell completes the commands, options and files of promptls. Print it
again after an update.

examples:
  promptls completions bash > ~/.local/share/bash-completion/completions/promptls
  promptls completions zsh > ~/.zfunc/_promptls        with `fpath+=~/.zfunc` before `compinit`
  promptls completions fish > ~/.config/fish/completions/promptls.fish"""

SHELLS = ("bash", "zsh", "fish", "powershell")

_PATHS = {"PATH", "FILE", "DOCS", "FOLDER", "FILE|JSON", "RUN"}
"""The names of arguments that can be files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to print the script for")


def execute(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from promptls.cli.arguments import Parser
    from promptls.cli.main import COMMANDS, command_module

    parser = Parser(prog="promptls", description="Check, preview and test LLM prompt templates.")
    parser.add_argument("--version", "-V", action="store_true", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        command_module(name).add_arguments(command)
        for action in command.declared():
            if action.metavar in _PATHS:
                action.complete = shtab.FILE  # type: ignore[attr-defined] # read by shtab
    print(shtab.complete(parser, arguments.shell))
    return 0
