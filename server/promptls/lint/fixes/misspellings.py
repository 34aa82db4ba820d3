"""Fixes of misspelled names and paths."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Final

from promptls.lint.rule import Finding, Severity
from promptls.security.files import current_scope, folder_changed, is_folder
from promptls.text.positions import Span
from promptls.text.suggest import is_close, nearest


def misspelled(
    span: Span, message: str, name: str, known: Iterable[str], *, severity: Severity | None = None
) -> Finding:
    """Return a finding at `span` that suggests the known name most similar to `name`, if there is one.

    The fix is preferred if the two names are very similar.
    """
    meant = nearest(name, known)
    return Finding.suggest(span, message, meant, preferred=is_close(name, meant or ""), severity=severity)


_MAX_ENTRIES: Final = 500


def near_file(missing: Path, named: str, endings: tuple[str, ...]) -> str | None:
    """Return the path of a file similar to `missing` with one of `endings`, in the form of `named`.

    If the folder of `missing` does not exist, the file may be in a folder with a similar name.
    """
    folder, prefix = missing.parent, PurePath(named).parent
    if not is_folder(folder):
        near = nearest(folder.name, _names(folder.parent, None))
        if near is None:
            return None
        folder, prefix = folder.parent / near, prefix.parent / near
    names = _names(folder, endings)
    near = missing.name if missing.name in names else nearest(missing.name, names)
    return None if near is None else (prefix / near).as_posix()


def near_folder(missing: Path, named: str) -> str | None:
    """Return the path of a folder similar to `missing`, in the form of `named`."""
    near = nearest(missing.name, _names(missing.parent, None))
    return None if near is None else (PurePath(named).parent / near).as_posix()


def _names(folder: Path, endings: tuple[str, ...] | None) -> list[str]:
    """Return the names of the files in a folder with one of `endings`; of its subfolders if that is None."""
    if not current_scope().allows(folder):
        return []
    folder_changed(folder)  # recorded, so that a later change invalidates cached findings
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
            return sorted(
                entry.name
                for entry in found
                if (entry.is_dir(follow_symlinks=False) if endings is None else _is_file(entry, endings))
            )
    except (OSError, ValueError):  # also for names that are invalid on this platform
        return []


def _is_file(entry: os.DirEntry[str], endings: tuple[str, ...]) -> bool:
    return not entry.is_dir(follow_symlinks=False) and entry.name.lower().endswith(endings)
