"""`promptls models`: which models there are, what they need, and whether they answer."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli.output.table import Column, Row, table
from promptls.cli.output.terminal import paint, print_json

if TYPE_CHECKING:
    from promptls.models.reference import ModelReference
    from promptls.models.trial import ModelState

SUMMARY = "list models, and try whether they answer"

DESCRIPTION = """\
Lists the models of the project and those of this machine, with where they are, which
variable holds their key, their price, and what is missing. Nothing is asked of any of them,
unless you say --try: then each gets one short question. Keys are named, never shown.

examples:
  promptls models                              those that this project can use
  promptls models --try local:smollm2          does it answer, and how fast?
  promptls models openai:gpt-4.1-mini          one by name: is its key there, what does it cost?
  promptls models --providers                  what may stand before the colon
  promptls models --json

exit codes: 0 every model is ready, 1 one that was named or tried is not, 2 wrong use"""

# Characters of an answer that are shown.
SHOWN = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the models, and whether they are tried."""
    parser.add_argument("names", metavar="MODEL", nargs="*", help="only these models")
    parser.add_argument("--try", dest="is_trial", action="store_true", help="ask each a short question")
    parser.add_argument("--providers", action="store_true", help="list the providers")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the models; 1 where one that was named or tried cannot be used."""
    from promptls.models.trial import state_of

    if arguments.providers:
        return _print_providers(as_json=arguments.json)
    references = _references(arguments.names)
    if arguments.is_trial:
        states = asyncio.run(_tried(references))
    else:
        states = [state_of(reference) for reference in references]
    if arguments.json:
        print_json([asdict(state) for state in states])
    else:
        _print(states, is_trial=arguments.is_trial)
    asked = bool(arguments.names) or arguments.is_trial
    return int(asked and not all(state.ready for state in states))


def _references(names: list[str]) -> list[ModelReference]:
    from promptls.models.registry import find_model
    from promptls.models.weights import LOCAL_MODELS
    from promptls.workspace.project_settings import SETTINGS_FILE, find_project

    project = find_project(Path.cwd() / SETTINGS_FILE)
    settings = project.settings
    chosen = names or [
        settings.default_model,
        *settings.models,
        *(f"local:{name}" for name in LOCAL_MODELS),
        "echo",
    ]
    return [find_model(name, settings.models, Path.cwd()) for name in dict.fromkeys(chosen)]


async def _tried(references: list[ModelReference]) -> list[ModelState]:
    from promptls.models.trial import tried

    # One after the other: models on this machine would slow each other down.
    return [await tried(reference) for reference in references]


def _print(states: list[ModelState], *, is_trial: bool) -> None:
    columns = [Column(""), Column("model"), Column("where"), Column("key"), Column("$ per million", "right")]
    if is_trial:
        columns += [Column("seconds", "right"), Column("answer")]
    print(table(columns, [_row(state, is_trial=is_trial) for state in states]))
    for state in states:
        if state.problem:
            print(f"\n{paint(state.name, 'bold')}: {state.problem}")
            if state.remedy:
                print(f"  → {state.remedy}")


def _row(state: ModelState, *, is_trial: bool) -> Row:
    cells = [
        "✓" if state.ready else "✗",
        state.name,
        state.base_url or state.provider,
        state.key or "",
        _price(state),
    ]
    if is_trial:
        answer = " ".join((state.answer or "").split())
        shown = answer if len(answer) <= SHOWN else f"{answer[:SHOWN]}…"
        cells += ["" if state.seconds is None else f"{state.seconds:.2f}", shown]
    return Row(cells, None if state.ready else "yellow")


def _price(state: ModelState) -> str:
    if state.input_price is None and state.output_price is None:
        return "not known"
    if not state.input_price and not state.output_price:
        return "free"
    return f"{state.input_price or 0:g} / {state.output_price or 0:g}"


def _print_providers(*, as_json: bool) -> int:
    from promptls.models.providers import TABLE

    if as_json:
        print_json({name: asdict(provider) for name, provider in TABLE.items()})
        return 0
    columns = [Column("provider"), Column("key"), Column("")]
    rows = [Row([name, next(iter(each.key_envs), ""), each.summary]) for name, each in TABLE.items()]
    print(table(columns, rows))
    return 0
