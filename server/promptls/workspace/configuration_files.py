"""The files that an OpenCompass configuration in Python imports or opens."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Final

from promptls.security.files import current_scope, is_file, joined, read_text, reading_within, scope_of
from promptls.workspace.disk import MAX_BYTES
from promptls.workspace.settings import ProjectFile, find_project

_PYTHON: Final = ".py"
_DATA: Final = frozenset({".csv", ".json", ".jsonl", ".md", ".txt", ".yaml", ".yml"})
_CHECKOUT: Final = "opencompass"
"""The usual name of a folder into which the repository of OpenCompass is cloned."""


class ConfigurationFiles:
    """Reads the files for the configuration at `path`, in the settings of its `project`.

    Configurations may lie anywhere, as they are named with dots. Other files lie below the folder of one that
    was read: beside the configuration, or, if they are data, beside an imported one.
    """

    def __init__(self, path: str, project: ProjectFile | None = None) -> None:
        self._folder: Final = joined(path, "..")
        self._project: Final = project or find_project(Path(path))
        self._roots: Final = tuple(dict.fromkeys(self._find_roots()))
        self._installed: Final[set[str]] = set()
        self._folders: Final[set[Path]] = set()
        self._packages: Final[dict[str, Path | None]] = {}

    def text(self, name: str) -> str | None:
        """Return the text of a file by its path from the configuration's folder; None if it is not read."""
        asked = PurePosixPath(name)
        try:
            file = joined(self._folder, name)
            if asked.suffix == _PYTHON:
                self._folders.add(file.parent)
            elif not file.is_relative_to(self._folder) and not any(
                _is_data(file, it) for it in self._folders
            ):
                return None
            installed = next((each for each in self._installed if file.is_relative_to(each)), None)
            if installed is not None:
                # The user has installed the package, so it may be read without trust in the workspace.
                with reading_within(lambda: scope_of([installed])):
                    return read_text(file, "utf-8-sig", limit=MAX_BYTES)
            return read_text(file, "utf-8-sig", limit=MAX_BYTES)
        except (OSError, ValueError):
            return None

    def is_missing(self, name: str) -> bool:
        """Return whether there is no file at a path that may be read."""
        file = self._folder / name
        return current_scope().allows(file) and not is_file(file)

    def module(self, name: str) -> str | None:
        """Return the path of a module, named from its package on; None if there is no such file.

        Packages are searched in the folders above the configuration, in a checkout of OpenCompass in one of
        them, where the setting `opencompass` says, and in the environment of promptls.
        """
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        choices = (Path(*parts[:-1], parts[-1] + _PYTHON), Path(*parts, "__init__.py"))
        for root, inside in product(self._roots, choices):
            if is_file(root / inside):
                return (root / inside).as_posix()
        if parts[0] not in self._packages:
            self._packages[parts[0]] = _installed_package(parts[0])
        package = self._packages[parts[0]]
        if package is None:
            return None
        with reading_within(lambda: scope_of([package])):
            found = next((package.parent / each for each in choices if is_file(package.parent / each)), None)
        if found is not None:
            self._installed.add(str(joined(package, "")))
        return None if found is None else found.as_posix()

    def _find_roots(self) -> Iterator[Path]:
        for above in (self._folder, *self._folder.parents):
            yield from (above, above / _CHECKOUT)
        named = self._project.settings.opencompass
        if named is not None:
            yield from (self._project.root / named, (self._project.root / named).parent)


def _is_data(file: Path, folder: Path) -> bool:
    """Return whether a file below a folder holds data, and nothing of its path is hidden."""
    if file.suffix not in _DATA or not file.is_relative_to(folder):
        return False
    return not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _installed_package(name: str) -> Path | None:
    """Return the folder of a package in this environment; nothing is imported."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = found.submodule_search_locations if found is not None else None
    return Path(next(iter(folders))) if folders else None
