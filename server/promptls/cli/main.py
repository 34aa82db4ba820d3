"""The entry point of the command line: selects the command, and converts every outcome to an exit code.

A command is a module of the folder `commands` with `DESCRIPTION`, `add_arguments(parser)`
and `execute(arguments)`. Only the module of the chosen command is imported, so that the
language server does not load the dependencies of rendering, and vice versa.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from promptls import __version__
from promptls.cli import safe_stream, terminal
from promptls.security.files import ANYWHERE, reading_within
from promptls.text.errors import UsageError, UserError, refused_by_system

if TYPE_CHECKING:
    import argparse

    from promptls.cli.arguments import Parser

FINE = 0
FOUND = 1  # findings, or a request that could not be fulfilled
WRONG_USE = 2
INTERRUPTED = 130  # as reported by shells for a program ended by Ctrl+C
PIPE_CLOSED = 141  # as reported by shells for a program whose output pipe was closed

COMMANDS: dict[str, str] = {
    "server": "start the language server",
    "check": "find mistakes in prompt files",
    "render": "render a prompt",
    "preview": "show a live preview in the browser",
    "tokens": "count the tokens of prompts",
    "truncate": "find a good truncation step for a growing chat",
    "contract": "show the inputs of a prompt",
    "ask": "ask a model with a prompt and one sample",
    "run": "run an experiment over a dataset",
    "generate": "generate a test dataset from documents",
    "compare": "compare runs of an experiment",
    "classes": "report precision, recall and F1 of each class",
    "results": "show the results of runs in the browser, live",
    "report": "write the results of runs as one HTML page",
    "history": "list the runs of experiments",
    "models": "list, test and install models",
    "format": "format prompt files",
    "convert": "convert prompts between formats",
    "new": "create a prompt with samples and a dataset",
    "rules": "list the rules",
    "explain": "explain a rule",
    "schema": "print a JSON Schema",
    "trust": "list and change trusted folders and keys",
    "mcp": "start the MCP server for coding agents",
    "completions": "print a script that completes commands in a shell",
    "doctor": "diagnose the installation",
}
"""The commands with their summaries, which are here so that the list of commands imports no module."""

_ELSEWHERE = {
    "diff": "compare",
    "eval": "run",
    "evaluate": "run",
    "fix": "check --fix",
    "init": "new",
    "install": "models --install",
    "lint": "check",
    "lsp": "server",
    "show": "render",
    "test": "run",
    "validate": "check",
    "view": "preview",
}
"""What other tools call a command, and the command."""


class Command(Protocol):
    """The interface of a command's module."""

    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's options on `parser`."""

    def execute(self, arguments: argparse.Namespace) -> int:
        """Run the command, and return its exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (by default the process's arguments), and return the exit code.

    0 means success, 1 findings or failures, 2 a usage error, 130 an interrupt.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Imports make many objects that stay: looking for garbage among them takes a tenth of a short command.
    gc.set_threshold(300_000, 20, 20)
    terminal.open_closed_streams()
    terminal.survive_any_encoding()
    safe_stream.install()
    try:
        with reading_within(lambda: ANYWHERE):  # until the arguments of the command are known
            code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes again at exit, which must not raise for the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        terminal.error("interrupted")
        return INTERRUPTED
    except UserError as failure:
        terminal.error(_without_keys(failure.message), failure.place, _without_keys(failure.remedy))
        return WRONG_USE if isinstance(failure, UsageError) else FOUND
    except OSError as failure:
        refused = refused_by_system(failure)
        terminal.error(refused.message, refused.place, refused.remedy)
        return FOUND
    else:
        return code


def run() -> NoReturn:
    """Run the command of the process's arguments, and exit."""
    # Otherwise pydantic searches all installed packages for plugins before it validates anything.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    code = main()
    gc.freeze()  # Python would look for garbage once more, among everything that is loaded
    sys.exit(code)


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "server"
    if first in {"-h", "--help", "help"}:
        if len(arguments) > 1 and first == "help":
            return _dispatch([arguments[1], "--help"])
        print(_help())
        return FINE
    if first in {"-V", "--version"}:
        print(f"promptls {__version__}")
        return FINE
    if first.startswith("-"):
        from promptls.text.suggest import nearest

        near = nearest(first, ["--help", "--version"])
        if near:
            raise UsageError(f"`promptls` has no option `{first}`", remedy=f"did you mean `{near}`?")
        # Editors start language servers as `promptls --stdio`.
        return _run_command("server", arguments)
    if first not in COMMANDS:
        raise UsageError(f"there is no command `{first}`", remedy=_unknown_command_remedy(first))
    return _run_command(first, arguments[1:])


def command_module(name: str) -> Command:
    """Return the module of a command."""
    return cast("Command", importlib.import_module(f"promptls.cli.commands.{name}"))


def parser_of(name: str) -> Parser:
    """Return the parser of a command's arguments."""
    from promptls.cli.arguments import Parser

    command = command_module(name)
    parser = Parser(prog=f"promptls {name}", description=command.DESCRIPTION)
    command.add_arguments(parser)
    return parser


def _run_command(name: str, options: list[str]) -> int:
    try:
        arguments = parser_of(name).parse_args(options)
    except SystemExit as finished:  # raised by argparse after `--help`
        return int(finished.code or 0)
    if name != "server":  # the server sets the scope for each message
        from promptls.cli.permission import read_as_trusted

        read_as_trusted(arguments)
    execute = command_module(name).execute
    try:
        return execute(arguments)
    except UserError as failure:
        from promptls.cli.permission import installed_model

        if not installed_model(failure):
            raise
        return execute(arguments)


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "promptls checks, previews and tests LLM prompt templates (`.yml.j2` files).\n\n"
        "usage: promptls [COMMAND] [OPTION…] [PATH…]\n\n"
        f"commands (default: start the language server on stdio):\n{commands}\n\n"
        "examples:\n"
        "  promptls check                          check all prompts below this folder\n"
        "  promptls render support.yml.j2          show its parts with roles and tokens\n"
        "  promptls run support.yml.j2             run its experiment\n\n"
        "`promptls COMMAND --help` shows options and examples; `promptls --version` prints the version.\n"
        "exit codes: 0 success, 1 findings or failures, 2 usage error"
    )


def _unknown_command_remedy(word: str) -> str:
    from promptls.text.suggest import nearest

    near = _ELSEWHERE.get(word) or nearest(word, COMMANDS)
    if near:
        return f"did you mean `promptls {near}`? `promptls --help` lists all commands"
    return "`promptls --help` lists the commands"


def _without_keys(text: str | None) -> str:
    """Return the message with secrets of the environment masked, since a user's code may have raised it."""
    from promptls.models.masking import key_mask

    return key_mask().mask(text or "")
