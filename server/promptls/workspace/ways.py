"""The ways on which a file is reached by includes, and what each of them provides for it.

An included file is only as right as its includers: a name that it reads may come from the data
of an entry template, or be bound on the way from there to the include.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.meaning.leading import leading_references
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.workspace.contract import function_names
from promptls.workspace.needs import passes_data, scopes_before
from promptls.workspace.snapshot import Snapshot

_MOST_WAYS: Final = 40
"""How many ways are looked at; a file that more templates include is judged by these."""


class Way(NamedTuple):
    """One way from an entry template to a file.

    `provided` are the names that are bound or declared on the way, or functions of a file on it.
    `bound` are those of them that a file binds on the way. `declares` says that the entry declares its
    inputs, so that every other name is missing there.
    `includer` and `reference` are the place that names the file itself; None for the entry's own way.
    """

    entry: str
    provided: frozenset[str]
    declares: bool
    bound: frozenset[str] = frozenset()
    includer: str | None = None
    reference: TemplateReference | None = None


def ways_to(snapshot: Snapshot, path: str) -> tuple[Way, ...]:
    """The ways to the file at `path` on which it sees data, at most 40, those of open files first.

    One whose functions file cannot be read declares nothing, because that may provide any name.
    """
    known = snapshot.derived.get((ways_to, path))
    if known is None:
        found: list[Way] = []
        for way in _ways(snapshot, path, (path,)):
            found.append(way)
            if len(found) == _MOST_WAYS:
                break
        known = snapshot.derived[ways_to, path] = tuple(found)
    return known  # type: ignore[return-value]  # put there above


def _ways(snapshot: Snapshot, path: str, below: tuple[str, ...]) -> Iterator[Way]:
    template = snapshot.template(path)
    if template is None:
        return
    declared = template.declarations.inputs
    functions = function_names(snapshot, path)
    own = frozenset(key.name for key in declared or ()) | (functions or frozenset())
    is_included = False
    for includer, reference in _places(snapshot, path, below):
        above = snapshot.template(includer)
        if above is None:
            continue
        bound = names_bound_at(above, reference)
        for way in _ways(snapshot, includer, (*below, includer)):
            is_included = True
            provided = way.provided | bound | own
            judges = way.declares and functions is not None
            yield Way(way.entry, provided, judges, way.bound | bound, includer, reference)
    if not is_included:
        yield Way(path, own, declared is not None and functions is not None)


def _places(snapshot: Snapshot, path: str, below: tuple[str, ...]) -> Iterator[tuple[str, TemplateReference]]:
    """The includes that lead to a file and pass data on, those in open files first."""
    includers = snapshot.includers(path) - {*below}
    for includer in sorted(includers, key=lambda each: (each not in snapshot.open_files, each)):
        template = snapshot.template(includer)
        for reference in leading_references(template) if template else ():
            if passes_data(reference) and snapshot.resolve(includer, reference) == path:
                yield includer, reference


def names_bound_at(template: Template, reference: TemplateReference) -> frozenset[str]:
    """The names that the file binds, on all ways or on some, at the place of a reference."""
    kept = template.source.root.kept
    known = kept.get((names_bound_at, reference))
    if known is None:
        scopes = scopes_before(template, reference).scopes
        names = {name for scope in scopes for name in scope.bound} - {"loop"}
        known = kept[names_bound_at, reference] = frozenset(names)
    return known  # type: ignore[return-value]  # put there above
