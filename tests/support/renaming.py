"""Renames in the files of a fixture, and their results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from promptls.ide.rename import rename_steps
from promptls.text.steps import finish
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.fixture import Marked


def cursor_of(root: Path, files: dict[str, Marked]) -> tuple[str, int]:
    """Return the path and offset of the only cursor in the files."""
    ((name, offset),) = ((name, marked.cursor) for name, marked in files.items() if marked.cursor is not None)
    return str(root / name), offset


def applied(snapshot: Snapshot, files: Iterable[str], place: tuple[str, int], new: str) -> dict[str, str]:
    """Return the texts of the fixture's files after a rename, by name."""
    (root,) = snapshot.roots
    texts = {}
    for name in files:
        template = snapshot.template(str(Path(root) / name))
        assert template is not None
        texts[str(Path(root) / name)] = template.source.text
    edits = finish(rename_steps(snapshot, *place, new))
    assert edits is not None, "nothing of ours stands there"
    for edit in sorted(edits, reverse=True):
        text = texts[edit.path]
        texts[edit.path] = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return {Path(file).name: text for file, text in texts.items()}


def workspace_of(root: Path, texts: dict[str, str]) -> Snapshot:
    """Return a snapshot of the files, all saved below `root`."""
    workspace = Workspace([root])
    for name, text in texts.items():
        (root / name).write_text(text)
        workspace.file_changed(str(root / name))
    workspace.scan_calls()
    return workspace.snapshot
