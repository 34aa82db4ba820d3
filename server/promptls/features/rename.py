"""Renaming: what can be renamed, and the edits that do it in every file.

A rename is right when the workspace with its edits has exactly the renamed places as places of
the symbol. That is looked at, and not guessed from lists of names: a name that something else
has already, or that would be caught by a binding in between, is refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from promptls.features.rename_refusals import refuse_name, refuse_places_steps, renamable_steps
from promptls.features.symbols import Occurrence, Symbol, occurrence_steps, symbol_at
from promptls.meaning.template import Template
from promptls.syntax.source import Source
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Scalar
from promptls.text.failure import Failure
from promptls.text.span import Span
from promptls.text.steps import Steps
from promptls.workspace.project_settings import edited_project
from promptls.workspace.python_calls import calls_in
from promptls.workspace.python_module import findings_in
from promptls.workspace.snapshot import Known, OpenFile, Snapshot

_FEW: Final = 50
"""How many edits of a file are made one by one."""


class Renaming(NamedTuple):
    """What is about to be renamed: where its name stands, and the name."""

    span: Span
    name: str


class RenameEdit(NamedTuple):
    """One change; `is_doubtful` where it may be of something else, so that somebody should look at it."""

    path: str
    span: Span
    text: str
    is_doubtful: bool


def prepare_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[Renaming | None]:
    """What stands at `offset`; None where a program, data or settings have a name of their own there.

    Raises `Failure` with the reason where it cannot be renamed.
    """
    symbol = yield from renamable_steps(snapshot, path, offset)
    return Renaming(symbol.span, symbol.name) if symbol is not None else None


def rename_steps(
    snapshot: Snapshot, path: str, offset: int, new: str
) -> Steps[tuple[RenameEdit, ...] | None]:
    """The edits that give the symbol at `offset` the name `new`, in the order of files and places.

    None where `prepare_steps` gives None. Raises `Failure` where the symbol cannot be renamed, or cannot
    have that name.
    """
    symbol = yield from renamable_steps(snapshot, path, offset)
    if symbol is None:
        return None
    places = yield from occurrence_steps(snapshot, symbol)
    if new == symbol.name:
        return ()
    refuse_name(snapshot, symbol, new, places)
    yield from refuse_places_steps(snapshot, symbol, places)
    edits = tuple(
        RenameEdit(
            each.path,
            each.span,
            _text(snapshot, symbol, each, new),
            # Where somebody begins to rename a name, just that one is meant.
            is_doubtful=each.is_likely and each.path != path,
        )
        for each in places
    )
    yield from _refuse_change_of_meaning(snapshot, symbol, new, edits)
    return edits


def _text(snapshot: Snapshot, symbol: Symbol, place: Occurrence, new: str) -> str:
    """What is to stand at a place: the name, in quotes where YAML takes it for something else."""
    if symbol.kind not in {"part", "section"}:
        return new
    template = snapshot.template(place.path)
    before = template.source.slice(Span(max(place.span.start - 1, 0), place.span.start)) if template else ""
    if before == "'":
        return new.replace("'", "''")
    escaped = new.replace("\\", "\\\\").replace('"', '\\"')
    if before == '"':
        return escaped
    return new if _is_plain(new) else f'"{escaped}"'


def _is_plain(text: str) -> bool:
    """Whether YAML reads the text, without quotes and wherever a value can stand, as just that text."""
    root = compose(f"[{{k: {text}, l: m}}]", Span, lambda _span: False).root
    item = (
        next(iter(root.items), None) if root is not None and not isinstance(root, Mapping | Scalar) else None
    )
    value = item.value("k") if isinstance(item, Mapping) and len(item.entries) == len("kl") else None
    return isinstance(value, Scalar) and (value.text, value.tag) == (text, "str")


# -- the meaning behind it ----------------------------------------------------------


def _refuse_change_of_meaning(
    snapshot: Snapshot, symbol: Symbol, new: str, edits: tuple[RenameEdit, ...]
) -> Steps[None]:
    """Raise `Failure` where the renamed places would not be all places of one thing."""
    after = yield from _with(snapshot, edits)
    moved = _moved(edits)
    expected = set(moved.values())
    renamed = symbol_at(after, *moved[symbol.path, symbol.span])
    found = (yield from occurrence_steps(after, renamed)) if renamed is not None else ()
    places = {(each.path, each.span.start) for each in found}
    for path, offset in sorted(places - expected):
        raise Failure(f"`{new}` is taken: {_where(after, path, offset)} would be the same thing")
    for path, offset in sorted(expected - places):
        where = _where(after, path, offset)
        raise Failure(f"`{new}` is taken: {where} would be something else than it is")


def _moved(edits: tuple[RenameEdit, ...]) -> dict[tuple[str, Span], tuple[str, int]]:
    """Where the name of each edit stands when all of them are made."""
    found = {}
    shifts: dict[str, int] = {}
    for edit in sorted(edits):
        shift = shifts.get(edit.path, 0)
        found[edit.path, edit.span] = (edit.path, edit.span.start + shift + _opening(edit.text))
        shifts[edit.path] = shift + len(edit.text) - (edit.span.end - edit.span.start)
    return found


def _opening(text: str) -> int:
    """How many characters stand ahead of the name in what is written."""
    return 1 if text.startswith('"') and len(text) > 1 and text.endswith('"') else 0


def _where(snapshot: Snapshot, path: str, offset: int) -> str:
    template = snapshot.template(path)
    line = template.source.place(offset).line + 1 if template is not None else 0
    return f"{Path(path).name}, line {line},"


def _edited(source: Source, edits: list[RenameEdit]) -> Source:
    """The source with the edits, which are in order; one of many is read anew, which costs less."""
    if len(edits) <= _FEW:
        for edit in reversed(edits):
            source = source.edited(edit.span, edit.text)
        return source
    pieces = []
    behind = 0
    for edit in edits:
        pieces += [source.text[behind : edit.span.start], edit.text]
        behind = edit.span.end
    return Source.of("".join([*pieces, source.text[behind:]]))


def _with(snapshot: Snapshot, edits: tuple[RenameEdit, ...]) -> Steps[Snapshot]:
    """The workspace as it is with the edits."""
    opened = dict(snapshot.open_files)
    calls, written = dict(snapshot.calls), dict(snapshot.written)
    projects = dict(snapshot.projects)
    by_file: dict[str, list[RenameEdit]] = {}
    for edit in sorted(edits):
        by_file.setdefault(edit.path, []).append(edit)
    for path, inside in by_file.items():
        yield
        template = snapshot.template(path)
        if template is None:
            continue
        source = _edited(template.source, inside)
        version = opened[path].version if path in opened else 0
        opened[path] = OpenFile(Template(source), version)
        for folder, project in snapshot.projects.items():
            if str(project.path) == path:
                projects[folder] = edited_project(project, source.text, snapshot.editor_settings)
        if path in calls:
            calls[path] = calls_in(source.text, path)
        if path in written:
            written[path] = findings_in(source.text, path)
    return replace(
        snapshot,
        revision=snapshot.revision + 1,
        open_files=opened,
        calls=calls,
        written=written,
        projects=projects,
        known=Known(),
    )
