"""What a file and everything that it includes take from the caller."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from promptls.workspace.python_names import functions_in
from promptls.workspace.snapshot import Snapshot


class Contract(NamedTuple):
    """The names of the variables that a rendering reads; `is_whole` is False where some cannot be known."""

    names: frozenset[str]
    is_whole: bool


def contract_of(snapshot: Snapshot, path: str) -> Contract:
    """What rendering the file at `path` reads from its data, includes and all."""
    names: set[str] = set()
    is_whole = True
    for included in snapshot.included(path):
        template = snapshot.template(included)
        if template is None:
            is_whole = False
            continue
        names |= template.names.input_names
        if template.names.takes_all:
            is_whole = False
        if any(not snapshot.resolve(included, reference) for reference in template.references):
            is_whole = False
    return Contract(frozenset(names), is_whole)


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
