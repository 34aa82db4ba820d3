"""What files say of one another, written anew for files that are about to get other names.

Names of includes count from the folder of the entry template, those in a header from the folder
of the file that they stand in. Where a name cannot be written any more, because a file leaves the
folder that names count from, it stays, and `unresolved-include` says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from promptls.features.rename import RenameEdit
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.text.span import Span
from promptls.workspace.disk import has_prompt_name, read_text
from promptls.workspace.include_names import path_in
from promptls.workspace.snapshot import Snapshot

_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_FUNCTION: Final = re.compile(r"(?<=\.py):\w+$")
"""What stands behind the file in the name of a metric."""
_PLAIN: Final = re.compile(r"[\w./](?:(?:[\w./ -]|:(?=\w))*[\w./-])?")
"""What needs no quotes in YAML."""


def rename_files(snapshot: Snapshot, renames: Mapping[str, str]) -> tuple[RenameEdit, ...]:
    """The edits, of texts as they are before, that let every path lead where it led; in order.

    `renames` leads from absolute paths of files and folders to their new ones.
    """
    moves = _Moves(renames)
    edits = {
        edit: None
        for path in _touched(snapshot, moves)
        if (template := snapshot.template(path)) is not None
        for edit in (
            *_include_edits(snapshot, path, template, moves),
            *_header_edits(path, template, moves),
        )
    }
    return tuple(sorted(edits, key=lambda edit: (edit.path, edit.span)))


class _Moves:
    """Where files go, also those inside of folders that go somewhere."""

    def __init__(self, renames: Mapping[str, str]) -> None:
        self.renames: Final = {os.path.normpath(old): os.path.normpath(new) for old, new in renames.items()}

    def __call__(self, path: str) -> str:
        """The new path of a file; its old one where it stays."""
        path = os.path.normpath(path)
        for old, new in self.renames.items():
            if path == old:
                return new
            if path.startswith(old + os.sep):
                return new + path[len(old) :]
        return path


def _touched(snapshot: Snapshot, moves: _Moves) -> list[str]:
    """The prompt files that may name something that moves, or count from something that does."""
    names = [Path(old).name for old in moves.renames]
    known = {*snapshot.graph.paths, *snapshot.open_files}
    touched: set[str] = set()
    for path in known:
        if moves(path) != path:
            touched.update(snapshot.included(path))
        elif path in snapshot.open_files or has_prompt_name(path):
            opened = snapshot.open_files.get(path)
            text = opened.template.source.text if opened else read_text(path) or ""
            if any(name in text for name in names):
                touched.add(path)
    return sorted(touched)


# -- includes ------------------------------------------------------------------------------------


def _include_edits(snapshot: Snapshot, path: str, template: Template, moves: _Moves) -> Iterator[RenameEdit]:
    for reference in template.references:
        for span, name in _literals(template, reference):
            new = _new_name(snapshot, path, name, moves)
            if new is not None and new != name:
                yield RenameEdit(path, Span(span.start + 1, span.end - 1), new, is_doubtful=False)


def _literals(template: Template, reference: TemplateReference) -> Iterator[tuple[Span, str]]:
    """The quoted names of a reference, each with its quotes."""
    names = reference.alternatives or ((reference.name,) if reference.name else ())
    text = template.source.slice(reference.span)
    for match in _LITERAL.finditer(text):
        if match[0][1:-1] in names:
            yield Span(*match.span()).shifted(reference.span.start), match[0][1:-1]


def _new_name(snapshot: Snapshot, path: str, name: str, moves: _Moves) -> str | None:
    """The name that leads to the same file; None where there is none, or where it led to none."""
    for folder in snapshot.search_folders(path):
        target = path_in(folder, name)
        if target is None or not snapshot.exists(target):
            continue
        entry = next((each for each in snapshot.entries(path) if str(Path(each).parent) == folder), None)
        new_folder = Path(moves(entry)).parent if entry is not None else Path(moves(folder))
        new_target = moves(target)
        if path_in(str(new_folder), name) == new_target:
            return name
        inside = Path(new_target).is_relative_to(new_folder)
        return Path(new_target).relative_to(new_folder).as_posix() if inside else None
    return None


# -- headers -------------------------------------------------------------------------------------


def _header_edits(path: str, template: Template, moves: _Moves) -> Iterator[RenameEdit]:
    folder, new_folder = Path(path).parent, Path(moves(path)).parent
    for span, name in _header_paths(template):
        written = template.source.slice(span)
        metric = _FUNCTION.search(name)
        file, function = (name[: metric.start()], metric[0]) if metric else (name, "")
        target = os.path.normpath(folder / file)
        if not file or Path(file).is_absolute() or (moves(target) == target and new_folder == folder):
            continue
        if not (Path(target).exists() or moves(target) != target):
            continue
        new = Path(os.path.relpath(moves(target), new_folder)).as_posix()
        if new != Path(os.path.normpath(file)).as_posix():
            yield RenameEdit(path, span, _quoted(new + function, written), is_doubtful=False)


def _header_paths(template: Template) -> Iterator[tuple[Span, str]]:
    """The values of the header that are paths, or begin with one, as they are and where they stand."""
    declared = template.declarations
    settings = declared.settings
    found: list[tuple[tuple[str | int, ...], str | None]] = [
        (("samples",), settings.samples),
        (("functions",), settings.functions),
    ]
    for name, experiment in (settings.experiments or {}).items():
        found.append((("experiments", name, "dataset"), experiment.dataset))
        found += [
            (("experiments", name, "metrics", index), metric)
            for index, metric in enumerate(experiment.metrics)
            if _FUNCTION.search(metric)
        ]
    for keys, value in found:
        span = declared.value_span(*keys)
        if value and span is not None:
            yield span, value


def _quoted(value: str, written: str) -> str:
    """The value as YAML, in the quotes that stood there before."""
    if written.startswith('"') and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    if _PLAIN.fullmatch(value) and not written.startswith("'"):
        return value
    return "'" + value.replace("'", "''") + "'"
