"""The files that an OpenCompass configuration in Python imports or opens."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Final

from promptls.security.files import current_scope, is_file, join_path, read_text, reading_within, scope_of
from promptls.workspace.settings import ProjectFile, find_project

_PYTHON: Final = ".py"
_DATA: Final = frozenset({".csv", ".json", ".jsonl", ".md", ".txt", ".yaml", ".yml"})
_CHECKOUT: Final = "opencompass"
"""The usual name of the folder of a clone of the OpenCompass repository."""


class ConfigurationFiles:
    """Reads the files for the configuration at `path`, with the settings of its `project`.

    Configurations may be anywhere, because they are imported by module names. Other files must be below the
    folder of a file that was read: that of the configuration, or, for data files, of an imported one.
    """

    def __init__(self, path: str, project: ProjectFile | None = None) -> None:
        self._folder: Final = join_path(path, "..")
        self._project: Final = project or find_project(Path(path))
        self._roots: Final = tuple(dict.fromkeys(self._find_roots()))
        self._installed: Final[set[str]] = set()
        self._folders: Final[set[Path]] = set()
        self._packages: Final[dict[str, Path | None]] = {}

    def text(self, name: str) -> str | None:
        """Return the text of a file by its path relative to the configuration; None if it may not be read."""
        requested = PurePosixPath(name)
        try:
            file = join_path(self._folder, name)
            if requested.suffix == _PYTHON:
                self._folders.add(file.parent)
            elif not file.is_relative_to(self._folder) and not any(
                _is_data(file, it) for it in self._folders
            ):
                return None
            installed = next((each for each in self._installed if file.is_relative_to(each)), None)
            if installed is not None:
                # The user has installed the package, so it may be read even if the workspace is not trusted.
                with reading_within(lambda: scope_of([installed])):
                    return read_text(file, "utf-8-sig")
            return read_text(file, "utf-8-sig")
        except (OSError, ValueError):
            return None

    def is_missing(self, name: str) -> bool:
        """Return whether a path may be read and no file exists there."""
        file = self._folder / name
        return current_scope().allows(file) and not is_file(file)

    def module(self, name: str) -> str | None:
        """Return the path of a module by its qualified name, or None if there is no such file.

        Packages are searched in the folders above the configuration, in a checkout of OpenCompass in one of
        them, in the path of the setting `opencompass`, and in the environment of promptls.
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
            self._installed.add(str(join_path(package, "")))
        return None if found is None else found.as_posix()

    def _find_roots(self) -> Iterator[Path]:
        for above in (self._folder, *self._folder.parents):
            yield from (above, above / _CHECKOUT)
        named = self._project.settings.opencompass
        if named is not None:
            yield from (self._project.root / named, (self._project.root / named).parent)


def _is_data(file: Path, folder: Path) -> bool:
    """Return whether a file below a folder contains data, and no component of its path is hidden."""
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
