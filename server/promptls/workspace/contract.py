"""What a file and everything that it includes take from the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from promptls.meaning.schema_shape import declared_over, shape_of_schema
from promptls.meaning.shape import UNKNOWN, Shape
from promptls.text.span import Span
from promptls.workspace.needs import Need, certain_place, needed_shapes, needs_of, passes_data, targets
from promptls.workspace.python_names import functions_in
from promptls.workspace.snapshot import Snapshot


class Contract(NamedTuple):
    """The names of the variables that a rendering reads; `is_whole` is False where some cannot be known."""

    names: frozenset[str]
    is_whole: bool


class InputPlace(NamedTuple):
    """A place where an input is read, in the file at `path`."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class NeededInput:
    """An input of a template, with its includes.

    `shape` is what its declaration says, and behind that what its uses suggest. `schema` is the
    JSON Schema that is declared for it, empty where there is none; `declared` the place of the
    declaration. `places` are where it is read: none for an input that nothing reads.
    """

    name: str
    shape: Shape
    schema: Mapping[str, Any]
    declared: InputPlace | None
    places: tuple[InputPlace, ...]


def contract_of(snapshot: Snapshot, path: str) -> Contract:
    """What rendering the file at `path` reads from its data, includes and all."""
    needs = needs_of(snapshot, path)
    return Contract(frozenset(needs.by_name), needs.is_whole)


def names_handed_on(snapshot: Snapshot, path: str) -> frozenset[str]:
    """The names that the files which the one at `path` includes read from around their include."""
    return frozenset(
        name
        for reference, target in targets(snapshot, path)
        if target is not None and target != path and passes_data(reference)
        for name in needs_of(snapshot, target).by_name
    )


def inputs_of(snapshot: Snapshot, path: str) -> tuple[NeededInput, ...]:
    """What the caller of the file at `path` must give, includes and all, sorted by name.

    Left out is what the file's functions provide.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    needs = needs_of(snapshot, path).by_name
    shapes = needed_shapes(snapshot, path)
    keys = {key.name: key for key in template.declarations.inputs or ()}
    functions = function_names(snapshot, path) or frozenset()
    found = []
    for name in sorted({*needs, *keys} - functions):
        key = keys.get(name)
        shape = shapes.get(name, _shape_unused(snapshot, name, needs.get(name)))
        found.append(
            NeededInput(
                name,
                declared_over(shape_of_schema(key.schema), shape) if key else shape,
                key.schema if key else {},
                InputPlace(path, key.span) if key else None,
                tuple(_places(snapshot, name, dict.fromkeys(need.path for need in needs.get(name, ())))),
            )
        )
    return tuple(found)


def _shape_unused(snapshot: Snapshot, name: str, needs: tuple[Need, ...] | None) -> Shape:
    """The shape of a variable whose uses say nothing: optional where a file may bind it ahead of them."""
    is_bound = needs is not None and certain_place(snapshot, name, needs) is None
    return Shape(optional=True) if is_bound else UNKNOWN


def _places(snapshot: Snapshot, name: str, paths: Mapping[str, None]) -> list[InputPlace]:
    return [
        InputPlace(path, reading.span)
        for path in paths
        if (template := snapshot.template(path)) is not None
        for reading in template.names.readings_of(name)
        if reading.is_input
    ]


def functions_path(snapshot: Snapshot, path: str) -> str | None:
    """The file whose functions the template at `path` may call, by its header or the project; absolute."""
    template = snapshot.template(path)
    named = template.declarations.settings.functions if template else None
    if named:
        return str(Path(path).parent / named)
    project = snapshot.project(path)
    return str(project.root / project.settings.functions) if project.settings.functions else None


def function_names(snapshot: Snapshot, path: str) -> frozenset[str] | None:
    """The names that the functions file gives to the template; None where the file cannot be read."""
    file = functions_path(snapshot, path)
    if file is None:
        return frozenset()
    functions = functions_in(file)
    return None if functions is None else frozenset(function.name for function in functions)
