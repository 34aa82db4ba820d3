"""The files beside an OpenCompass configuration that it imports or opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from promptls.workspace.disk import MAX_BYTES


def beside(path: str) -> Callable[[str], str | None]:
    """What gives the text of a file by its path from the folder of the file at `path`; None where it may not.

    Configurations may lie anywhere, as they are named with dots; other files only below the folder.
    """
    folder = Path(path).resolve().parent

    def read(name: str) -> str | None:
        asked = PurePosixPath(name)
        try:
            file = (folder / asked).resolve()
            is_allowed = not asked.is_absolute() and (asked.suffix == ".py" or file.is_relative_to(folder))
            if not is_allowed or not file.is_file() or file.stat().st_size > MAX_BYTES:
                return None
            return file.read_text("utf-8-sig")
        except (OSError, ValueError):
            return None

    return read
