"""The files of a configuration in Python, by path."""

from __future__ import annotations

from collections.abc import Mapping


class FilesOf:
    """Files written by a test; packages are beside the configuration."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self._files = files or {}

    def text(self, name: str, /) -> str | None:
        """Return the text of a file."""
        return self._files.get(name)

    def module(self, name: str, /) -> str | None:
        """Return the path of the file of a module."""
        path = name.replace(".", "/")
        known = (each for each in (f"{path}.py", f"{path}/__init__.py") if each in self._files)
        return next(known, None)

    def is_missing(self, name: str, /) -> bool:
        """Return whether there is no such file."""
        return name not in self._files
