"""`promptls contract`: the inputs of a template."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from promptls.cli.terminal import Column, TableRow, print_json, printed_path, shown_path, table
from promptls.text.errors import UsageError
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.workspace.contract import InputPlace, NeededInput
    from promptls.workspace.snapshot import Snapshot

DESCRIPTION = """\
List the inputs of a prompt, including those of its includes, with their declared or inferred
types and where they are read. The result can also be a JSON Schema, a pydantic model or a
TypedDict.

examples:
  promptls contract support.yml.j2
  promptls contract support.yml.j2 --format pydantic > support_inputs.py
  promptls contract support.yml.j2 --format json-schema

exit codes: 0 printed, 2 usage error"""

_MAX_PLACES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the path and the output format."""
    from promptls.ide.contract_formats import FORMATS

    parser.add_argument("path", metavar="FILE", help="the prompt file")
    parser.add_argument(
        "--format", choices=FORMATS, help="print the inputs in this format instead of a table"
    )
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the inputs."""
    from promptls.cli.chosen_files import choose_one, refuse_other_files
    from promptls.ide.contract_formats import contract_text
    from promptls.workspace.contract import inputs_of

    if arguments.json and arguments.format:
        raise UsageError("`--json` and `--format` exclude each other", remedy="choose one of them")
    chosen, path = choose_one(arguments.path)
    refuse_other_files(chosen.snapshot, path)
    if arguments.format:
        print(contract_text(chosen.snapshot, path, arguments.format), end="")
    elif arguments.json:
        print_json(contract_json(chosen.snapshot, path))
    else:
        _print(chosen.snapshot, path, inputs_of(chosen.snapshot, path))
    return 0


def _print(snapshot: Snapshot, path: str, inputs: tuple[NeededInput, ...]) -> None:
    if not inputs:
        print(f"{printed_path(path)} needs nothing from its caller.")
        return
    columns = (Column("input"), Column("type"), Column("needed"), Column("declared"), Column("read at"))
    print(table(columns, [_row(snapshot, each) for each in inputs]))
    print()
    needed = sum(not each.shape.optional for each in inputs)
    print(f"{plural(len(inputs), 'input')} of {printed_path(path)}, {needed} of them needed.")


def _row(snapshot: Snapshot, each: NeededInput) -> TableRow:
    from promptls.ide.contract_formats import condition_text

    declared = "" if each.declared is None else _place(snapshot, each.declared)
    places = list(dict.fromkeys(_place(snapshot, place) for place in each.places))
    more = f", and {len(places) - _MAX_PLACES} more" if len(places) > _MAX_PLACES else ""
    read = ", ".join(places[:_MAX_PLACES]) + more or "nowhere"
    needed = "no" if each.shape.optional else "yes"
    if where := condition_text(each.shape):
        needed = f"where {where}"
    return TableRow((each.name, each.shape.description, needed, declared, read))


def _place(snapshot: Snapshot, place: InputPlace) -> str:
    return f"{printed_path(place.path)}:{_line(snapshot, place)}"


def _line(snapshot: Snapshot, place: InputPlace) -> int:
    template = snapshot.template(place.path)
    assert template is not None
    return template.source.line_column(place.span.start).line + 1


def contract_json(snapshot: Snapshot, path: str) -> dict[str, Any]:
    """Return the inputs with their types and the places that read them."""
    from promptls.ide.contract_formats import condition_text
    from promptls.workspace.contract import inputs_of, needs_of

    def place(each: InputPlace) -> dict[str, Any]:
        return {"path": shown_path(each.path), "line": _line(snapshot, each)}

    return {
        "path": shown_path(path),
        "complete": needs_of(snapshot, path).is_whole,
        "inputs": [
            {
                "name": each.name,
                "type": each.shape.description,
                "optional": each.shape.optional,
                "needed_where": condition_text(each.shape) or None,
                "declared": None if each.declared is None else place(each.declared),
                "description": each.schema.get("description"),
                "read": [place(reference) for reference in each.places],
            }
            for each in inputs_of(snapshot, path)
        ],
    }
