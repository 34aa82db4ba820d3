"""The path of a file or folder that is there, and has a name like one that is not."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Final

from promptls.text.nearest import nearest

_MOST_ENTRIES: Final = 500


def near_file(wanted: Path, named: str, endings: tuple[str, ...]) -> str | None:
    """The path of a file with one of `endings` that is like `wanted`, written as `named` is.

    The file may lie in another folder, whose name is like the one where it was looked for.
    """
    folder, prefix = wanted.parent, PurePath(named).parent
    if not folder.is_dir():
        near = nearest(folder.name, _names(folder.parent, None))
        if near is None:
            return None
        folder, prefix = folder.parent / near, prefix.parent / near
    names = _names(folder, endings)
    near = wanted.name if wanted.name in names else nearest(wanted.name, names)
    return None if near is None else (prefix / near).as_posix()


def near_folder(wanted: Path, named: str) -> str | None:
    """The path of a folder that is like `wanted`, written as `named` is."""
    near = nearest(wanted.name, _names(wanted.parent, None))
    return None if near is None else (PurePath(named).parent / near).as_posix()


def _names(folder: Path, endings: tuple[str, ...] | None) -> list[str]:
    """The names of the files in a folder with one of these endings, or of the folders in it."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False)]
            return sorted(
                entry.name
                for entry in found
                if (entry.is_dir() if endings is None else _is_file(entry, endings))
            )
    except (OSError, ValueError):  # of names that no folder can have, too
        return []


def _is_file(entry: os.DirEntry[str], endings: tuple[str, ...]) -> bool:
    return not entry.is_dir() and entry.name.lower().endswith(endings)
