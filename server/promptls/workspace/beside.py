"""The files beside an OpenCompass configuration that it imports or opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from promptls.security.files import read_text
from promptls.workspace.disk import MAX_BYTES


def beside(path: str) -> Callable[[str], str | None]:
    """Return what gives the text of a file by its path from the folder of the file at `path`.

    None if it may not.

    Configurations may lie anywhere, as they are named with dots; other files only below the folder.
    """
    folder = Path(path).resolve().parent

    def read(name: str) -> str | None:
        asked = PurePosixPath(name)
        try:
            file = (folder / asked).resolve()
            is_allowed = not asked.is_absolute() and (asked.suffix == ".py" or file.is_relative_to(folder))
            if not is_allowed:
                return None
            return read_text(file, "utf-8-sig", limit=MAX_BYTES)
        except (OSError, ValueError):
            return None

    return read
