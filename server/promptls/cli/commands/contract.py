"""`promptls contract`: what a template needs from its caller."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.output.table import Column, Row, table
from promptls.cli.output.terminal import print_json, shown_path
from promptls.text.counted import counted

if TYPE_CHECKING:
    from promptls.workspace.contract import InputPlace, NeededInput
    from promptls.workspace.snapshot import Snapshot

SUMMARY = "show what a prompt needs from its caller"

DESCRIPTION = """\
Lists the inputs of a prompt, those that its includes read too, with the types that are
declared for them or inferred from how they are used, and where each is read. The same
can be printed as a JSON Schema, as a pydantic model or as a TypedDict.

examples:
  promptls contract support.yml.j2
  promptls contract support.yml.j2 --format pydantic > support_inputs.py
  promptls contract support.yml.j2 --format json-schema

exit codes: 0 printed, 2 wrong use"""

_MOST_PLACES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the path and the output's form."""
    from promptls.features.contract.formats import FORMATS

    parser.add_argument("path", metavar="FILE", help="the prompt file")
    parser.add_argument("--format", choices=FORMATS, help="print the inputs in this form instead of a table")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the inputs."""
    from promptls.cli.input.chosen_files import choose, refuse_other_files
    from promptls.features.contract.formats import contract_text
    from promptls.text.failure import WrongUse
    from promptls.workspace.contract import inputs_of

    if arguments.json and arguments.format:
        raise WrongUse("`--json` and `--format` exclude each other", remedy="choose one of them")
    chosen = choose([arguments.path])
    path = str(Path(arguments.path).absolute())
    refuse_other_files(chosen.snapshot, path)
    if arguments.format:
        print(contract_text(chosen.snapshot, path, arguments.format), end="")
    elif arguments.json:
        print_json(_as_json(chosen.snapshot, path))
    else:
        _print(chosen.snapshot, path, inputs_of(chosen.snapshot, path))
    return 0


def _print(snapshot: Snapshot, path: str, inputs: tuple[NeededInput, ...]) -> None:
    if not inputs:
        print(f"{shown_path(path)} needs nothing from its caller.")
        return
    columns = (Column("input"), Column("type"), Column("needed"), Column("declared"), Column("read at"))
    print(table(columns, [_row(snapshot, each) for each in inputs]))
    print()
    needed = sum(not each.shape.optional for each in inputs)
    print(f"{counted(len(inputs), 'input')} of {shown_path(path)}, {needed} of them needed.")


def _row(snapshot: Snapshot, each: NeededInput) -> Row:
    from promptls.features.contract.needed_where import where_words

    declared = "" if each.declared is None else _place(snapshot, each.declared)
    places = list(dict.fromkeys(_place(snapshot, place) for place in each.places))
    more = f", and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    read = ", ".join(places[:_MOST_PLACES]) + more or "nowhere"
    needed = "no" if each.shape.optional else "yes"
    if where := where_words(each.shape):
        needed = f"where {where}"
    return Row((each.name, each.shape.words, needed, declared, read))


def _place(snapshot: Snapshot, place: InputPlace) -> str:
    return f"{shown_path(place.path)}:{_line(snapshot, place)}"


def _line(snapshot: Snapshot, place: InputPlace) -> int:
    template = snapshot.template(place.path)
    assert template is not None
    return template.source.place(place.span.start).line + 1


def _as_json(snapshot: Snapshot, path: str) -> dict[str, Any]:
    from promptls.features.contract.needed_where import where_words
    from promptls.workspace.contract import inputs_of
    from promptls.workspace.needs import needs_of

    def place(each: InputPlace) -> dict[str, Any]:
        return {"path": shown_path(each.path), "line": _line(snapshot, each)}

    return {
        "path": shown_path(path),
        "complete": needs_of(snapshot, path).is_whole,
        "inputs": [
            {
                "name": each.name,
                "type": each.shape.words,
                "optional": each.shape.optional,
                "needed_where": where_words(each.shape) or None,
                "declared": None if each.declared is None else place(each.declared),
                "description": each.schema.get("description"),
                "read": [place(reading) for reading in each.places],
            }
            for each in inputs_of(snapshot, path)
        ],
    }
