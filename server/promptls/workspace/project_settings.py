"""The project that a file belongs to: `promptls.toml`, or `[tool.promptls]` in `pyproject.toml`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from promptls.settings.valid_part import valid_part
from promptls.text.failure import FilePlace
from promptls.text.lines import line_starts, place_of
from promptls.text.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from promptls.settings.project import Project
    from promptls.settings.valid_part import Invalid

SETTINGS_FILE = "promptls.toml"
PYPROJECT_FILE = "pyproject.toml"
_KEY = r"""(?:^[ \t]*\[?|[.,{{]\s*)["']?{0}(?=["']?[ \t]*[=.\]])"""
"""A name as TOML has it: at the start of a line, in a table's name, behind a dot, or in a table in line."""


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """A mistake in the settings, with what is wrong in `message`; the editor's settings have no place."""

    place: FilePlace | None
    message: str


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Settings and where they come from.

    `root` is the folder of the settings file, or the folder of the prompt file where `path` is None
    because there is no settings file. What `problems` names has its default value.
    """

    root: Path
    path: Path | None
    settings: Project
    problems: tuple[SettingsProblem, ...] = ()
    text: str = ""
    """What stands in the file at `path`."""

    def includes(self, path: str) -> bool:
        """Whether the settings say that the file is a prompt file, whatever it looks like."""
        return self._matches(path, self.settings.include)

    def excludes(self, path: str) -> bool:
        """Whether the settings say that the file is to be left alone."""
        return self._matches(path, self.settings.exclude)

    def _matches(self, path: str, globs: list[str]) -> bool:
        if not globs:
            return False
        inside = Path(path).is_relative_to(self.root)
        name = (Path(path).relative_to(self.root) if inside else Path(path)).as_posix()
        return any(fnmatch(name, glob) or fnmatch(name, f"{glob.rstrip('/')}/*") for glob in globs)


def find_project(path: Path, editor_settings: Mapping[str, object] | None = None) -> ProjectFile:
    """The project of the file at `path`, searched in its folder and every folder above.

    The nearest settings file counts; `promptls.toml` goes before `pyproject.toml`. The editor's
    settings lie over it, key by key. Never raises on a bad file: its problems are part of the
    result.
    """
    from promptls.settings.project import Project

    folder = path.absolute().parent
    for candidate in (folder, *folder.parents):
        for name in (SETTINGS_FILE, PYPROJECT_FILE):
            found = _read(candidate / name)
            if found is not None:
                return _under_editor(found, editor_settings)
    return _under_editor(ProjectFile(folder, None, Project()), editor_settings)


def _under_editor(project: ProjectFile, editor_settings: Mapping[str, object] | None) -> ProjectFile:
    """The project with the editor's settings over it; mappings such as `rules` are laid key by key."""
    if not editor_settings:
        return project
    values = project.settings.model_dump(exclude_unset=True)
    for key, value in editor_settings.items():
        known = values.get(key)
        values[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    settings, problems = _validated(values, None, "")
    return replace(project, settings=settings, problems=(*project.problems, *problems))


def edited_project(
    project: ProjectFile, text: str, editor_settings: Mapping[str, object] | None = None
) -> ProjectFile:
    """The project as it is with another text in its file."""
    found = project_in(project.path, text) if project.path is not None else None
    return project if found is None else _under_editor(found, editor_settings)


def _read(file: Path) -> ProjectFile | None:
    """The project in `file`, or None when `file` is not there or says nothing of promptls."""
    from promptls.settings.project import Project

    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        if file.name == SETTINGS_FILE and not isinstance(error, FileNotFoundError | NotADirectoryError):
            problem = SettingsProblem(FilePlace(file), f"the settings cannot be read: {error}")
            return ProjectFile(file.parent, file, Project(), (problem,))
        return None
    return project_in(file, text)


def project_in(file: Path, text: str) -> ProjectFile | None:
    """The project that a settings file with this text declares; None where it says nothing of promptls."""
    from promptls.settings.project import Project

    try:
        values = _parsed(text)
    except ValueError as error:
        if file.name == PYPROJECT_FILE and "tool.promptls" not in text:
            return None
        problem = SettingsProblem(_toml_place(file, str(error)), f"the file is not valid TOML: {error}")
        return ProjectFile(file.parent, file, Project(), (problem,), text)
    if file.name == PYPROJECT_FILE:
        tool = values.get("tool")
        section = tool.get("promptls") if isinstance(tool, dict) else None
        if not isinstance(section, dict):
            return None
        values = section
    settings, problems = _validated(values, file, text)
    return ProjectFile(file.parent, file, settings, problems, text)


def _parsed(text: str) -> dict[str, Any]:
    # The standard library has the parser from Python 3.11 on; before, its origin is installed.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    values: dict[str, Any] = toml.loads(text.removeprefix("\ufeff"))
    return values


def _validated(
    values: dict[str, Any], file: Path | None, text: str
) -> tuple[Project, tuple[SettingsProblem, ...]]:
    from promptls.settings.project import Project

    settings, invalid = valid_part(Project, values)
    misspelt = {
        (*found.path[:-1], meant)
        for found in invalid
        if found.is_unknown_key and (meant := nearest(str(found.path[-1]), _names_at(found.path[:-1])))
    }
    problems = [
        SettingsProblem(
            FilePlace(file, *next(reversed(_places_of(text, _written(values, found.path))), (None, None)))
            if file
            else None,
            _message(found),
        )
        for found in invalid
        if found.is_unknown_key or found.path not in misspelt
    ]
    return settings, tuple(sorted(problems, key=lambda problem: _order(problem.place)))


def _written(values: Any, path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """As much of `path` as leads to something: a name that is missing stands nowhere."""
    for length, name in enumerate(path):
        if not (isinstance(values, dict) and name in values):
            return path[:length]
        values = values[name]
    return path


def _order(place: FilePlace | None) -> tuple[int, int]:
    return (-1, 0) if place is None or place.line is None else (place.line, place.column or 0)


def _message(found: Invalid) -> str:
    key = ".".join(map(str, found.path))
    if found.is_unknown_key:
        return f"there is no setting `{key}`{did_you_mean(str(found.path[-1]), _names_at(found.path[:-1]))}"
    return f"the setting `{key}` is wrong: {found.message[:1].lower()}{found.message[1:]}"


def _names_at(path: tuple[int | str, ...]) -> tuple[str, ...]:
    """The names of the settings that may stand below `path`."""
    from promptls.settings.project import Project

    kind: Any = Project
    for name in path:
        if _is_model(kind):
            field = kind.model_fields.get(str(name))
            kind = field.annotation if field else None
        else:  # a mapping from names of one's own, or a list
            kind = (get_args(kind) or (None,))[-1]
        kind = next((each for each in get_args(kind) if _is_model(each)), kind) if _is_union(kind) else kind
    return tuple(kind.model_fields) if _is_model(kind) else ()


def _is_model(kind: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, UnionType}


def place_of_setting(project: ProjectFile, location: tuple[str, ...]) -> FilePlace | None:
    """Where a setting stands in the project's file; None for one that only the editor sets."""
    if project.path is None:
        return None
    places = _places_of(project.text, location)
    return FilePlace(project.path, *places[-1]) if len(places) == len(location) else None


def place_of_item(project: ProjectFile, key: FilePlace | None, item: str) -> FilePlace | None:
    """Where a text stands in the list behind the place of a key; the key where it is not found as it is."""
    if key is None or key.line is None:
        return key
    start = line_starts(project.text)[key.line] + (key.column or 0)
    found = re.compile(rf"""["']{re.escape(item)}["']""").search(project.text, start)
    if found is None or re.search(
        r"^[ \t]*\[[^\[\]\"',]+\][ \t]*$", project.text[start : found.start()], re.MULTILINE
    ):
        return key
    place = place_of(line_starts(project.text), found.start() + 1)
    return FilePlace(key.path, place.line, place.column)


def _places_of(text: str, location: tuple[int | str, ...]) -> list[tuple[int, int]]:
    """The lines and columns of the names in `location` that stand as keys or in a table's name.

    Each name is looked for behind the one around it.
    """
    table = re.search(r"^\[tool\.promptls\b", text, re.MULTILINE)
    at = table.end() if table else 0
    places = []
    for name in location:
        found = re.compile(_KEY.format(re.escape(str(name))), re.MULTILINE).search(text, at)
        if found is not None:
            at = found.end()
            start = at - len(str(name))
            places.append((text.count("\n", 0, start), start - text.rfind("\n", 0, start) - 1))
    return places


def _toml_place(file: Path, said: str) -> FilePlace:
    found = re.search(r"at line (\d+), column (\d+)", said)
    return FilePlace(file, int(found[1]) - 1, int(found[2]) - 1) if found else FilePlace(file)
