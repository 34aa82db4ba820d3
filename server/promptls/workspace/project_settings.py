"""The project that a file belongs to: `promptls.toml`, or `[tool.promptls]` in `pyproject.toml`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.meaning.setting_words import first_without_name, names_at, unknown_words, wrong_words
from promptls.settings.valid_part import valid_part
from promptls.text.failure import FilePlace
from promptls.text.lines import line_starts, place_of
from promptls.text.nearest import is_slip, nearest
from promptls.workspace.toml_names import toml_names

if TYPE_CHECKING:
    from promptls.settings.project import Project
    from promptls.settings.valid_part import Invalid

SETTINGS_FILE = "promptls.toml"
PYPROJECT_FILE = "pyproject.toml"
_UNQUOTED_LIST: Final = re.compile(r"(?<=should be a list: )`\[(.*?)\]`", re.DOTALL)
_LIST_OF_TEXT: Final = r"""`["\1"]`"""
"""A list of one text as TOML has it."""
_TOOL_KEYS: Final = ("tool", "promptls")


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
        return any(
            fnmatch(name, each) or fnmatch(name, f"{each.rstrip('/')}/*")
            for glob in globs
            for each in _spellings(glob.removeprefix("./"))
        )


def _spellings(glob: str) -> tuple[str, ...]:
    """The glob, and the one in which `**/` stands for no folder, as it may."""
    shorter = glob.replace("/**/", "/").removeprefix("**/")
    return (glob,) if shorter == glob else (glob, shorter)


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
            misplaced = _misplaced(file, text, values)
            return ProjectFile(file.parent, file, Project(), (misplaced,), text) if misplaced else None
        values = section
    settings, problems = _validated(values, file, text)
    return ProjectFile(file.parent, file, settings, problems, text)


def _misplaced(file: Path, text: str, values: dict[str, Any]) -> SettingsProblem | None:
    """What is wrong with the name of the table that is meant for promptls; None where no table is."""
    tool = values.get("tool")
    names = tool if isinstance(tool, dict) else {}
    slip = next((name for name in names if is_slip(name, "promptls") and isinstance(names[name], dict)), None)
    at = ("tool", slip) if slip is not None else ("promptls",)
    if slip is None and not isinstance(values.get("promptls"), dict):
        return None
    span = next((name.span for name in toml_names(text) if name.keys == at), None)
    place = place_of(line_starts(text), span.start) if span else None
    return SettingsProblem(
        FilePlace(file, place.line, place.column) if place else FilePlace(file),
        f"promptls does not read `[{'.'.join(at)}]`; did you mean `[tool.promptls]`?",
    )


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
        (*above, meant)
        for *above, name in (found.path for found in invalid if found.is_unknown_key)
        if (meant := nearest(str(name), names_at(Project, tuple(above))))
    }
    nameless = first_without_name(invalid, Project)
    problems = [
        SettingsProblem(_nearest_place(file, text, _written(values, found.path)) if file else None, said)
        for found in invalid
        if (said := nameless.get(found.path, _message(found, file)))
        and (found.is_unknown_key or found.path not in misspelt)
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


def _message(found: Invalid, file: Path | None) -> str:
    from promptls.settings.project import Project

    key = ".".join(map(str, found.path))
    if found.is_unknown_key and file is not None and key in {"tool", "promptls"}:
        return f"in `{file.name}`, settings stand at the top, and not below `[{key}]`"
    if found.is_unknown_key:
        return f"there is no setting `{key}`{unknown_words(found, Project)}"
    if found.message == "Input should be a mapping" and names_at(Project, (*found.path, "")):
        return f"the setting `{key}` is wrong: input should be tables with names: `[{key}.NAME]`"
    said = wrong_words(found, key, f"`{key}` is wrong")
    return f"the setting {_UNQUOTED_LIST.sub(_LIST_OF_TEXT, said)}"


def place_of_setting(project: ProjectFile, location: tuple[str | int, ...]) -> FilePlace | None:
    """Where a setting stands in the project's file; None for one that only the editor sets.

    A number at the end of `location` leads to an item of a list, which is its key's where it is no text
    on one line.
    """
    if project.path is None:
        return None
    is_item = isinstance(location[-1], int)
    written = _written_places(project.text, project.path.name)
    place = written.get(location) or (written.get(location[:-1]) if is_item else None)
    return FilePlace(project.path, *place) if place else None


def _nearest_place(file: Path, text: str, location: tuple[str | int, ...]) -> FilePlace:
    """The place of as much of `location` as stands in the file."""
    written = _written_places(text, file.name)
    around = (location[:length] for length in range(len(location), 0, -1))
    found = next((written[each] for each in around if each in written), (None, None))
    return FilePlace(file, *found)


@lru_cache(maxsize=8)
def _written_places(text: str, file_name: str) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Where each setting stands first, as line and column, by the names and numbers that lead to it."""
    above = _TOOL_KEYS if file_name == PYPROJECT_FILE else ()
    starts = line_starts(text)
    found: dict[tuple[str | int, ...], tuple[int, int]] = {}
    for name in toml_names(text):
        is_inside = name.keys[: len(above)] == above
        if is_inside and (name.is_key or isinstance(name.keys[-1], int)):
            place = place_of(starts, name.span.start)
            found.setdefault(name.keys[len(above) :], (place.line, place.column))
    return found


def _toml_place(file: Path, said: str) -> FilePlace:
    found = re.search(r"at line (\d+), column (\d+)", said)
    return FilePlace(file, int(found[1]) - 1, int(found[2]) - 1) if found else FilePlace(file)
