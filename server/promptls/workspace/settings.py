"""The project that a file belongs to: `promptls.toml`, or `[tool.promptls]` in `pyproject.toml`."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.security.files import OutsideScopeError, current_scope, read_text, reading_within, scope_of
from promptls.security.trust import covers_home
from promptls.semantic.setting_names import (
    first_without_name,
    names_at,
    unknown_key_message,
    wrong_value_message,
)
from promptls.settings.valid_part import MAX_PROBLEMS, valid_part
from promptls.syntax.toml_places import TomlName, TooLargeTomlError, check_size, toml_names
from promptls.text.errors import FilePlace
from promptls.text.format import plural
from promptls.text.positions import line_column, line_starts
from promptls.text.suggest import is_typo, nearest

if TYPE_CHECKING:
    from promptls.settings.project import Project
    from promptls.settings.valid_part import Invalid

SETTINGS_FILE = "promptls.toml"
PYPROJECT_FILE = "pyproject.toml"
_OPENCOMPASS_FILE: Final = Path("openicl", "icl_prompt_template.py")
MAX_SETTINGS_BYTES: Final = 1_000_000
"""The size above which a settings file is not read."""
_UNQUOTED_LIST: Final = re.compile(r"(?<=should be a list: )`\[(.*?)\]`", re.DOTALL)
_LIST_OF_TEXT: Final = r"""`["\1"]`"""
"""A list of one text in TOML syntax."""


def is_settings_file(path: str) -> bool:
    """Return whether the file name is that of a settings file of promptls."""
    return Path(path).name in {SETTINGS_FILE, PYPROJECT_FILE}


def root_of(path: str) -> tuple[str, ...]:
    """Return the tables around the settings in a file of this name."""
    return ("tool", "promptls") if Path(path).name == PYPROJECT_FILE else ()


def setting_names(text: str, path: str) -> Iterator[TomlName]:
    """Yield the names in the settings of a file, with the keys that lead to them from the settings' root."""
    root = root_of(path)
    for each in toml_names(text):
        if each.keys[: len(root)] == root:
            yield each._replace(keys=each.keys[len(root) :])


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """A mistake in the settings, described in `message`; the editor's settings have no position."""

    place: FilePlace | None
    message: str


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Settings and where they come from.

    `root` is the folder of the settings file, or of the prompt file if `path` is None because there is no
    settings file. Settings with `problems` have their default value.
    """

    root: Path
    path: Path | None
    settings: Project
    problems: tuple[SettingsProblem, ...] = ()
    text: str = ""
    """The text of the file at `path`."""

    def includes(self, path: str) -> bool:
        """Return whether the settings declare that the file is a prompt file, regardless of its text."""
        return self._matches(path, self.settings.include)

    def excludes(self, path: str) -> bool:
        """Return whether the settings exclude the file."""
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
    """Return the glob, and its variant in which `**/` matches no folder."""
    shorter = glob.replace("/**/", "/").removeprefix("**/")
    return (glob,) if shorter == glob else (glob, shorter)


def find_project(path: Path, editor_settings: Mapping[str, object] | None = None) -> ProjectFile:
    """Return the project of the file at `path`, searched in its folder and those above in its repository.

    The nearest settings file is used; `promptls.toml` takes precedence over `pyproject.toml`. The editor's
    settings override it, key by key. Never raises on a bad file: its problems are part of the
    result.
    """
    from promptls.settings.project import Project

    folder = _without_dots(path).parent
    for candidate in (folder, *folder.parents):
        found = _settings_in(candidate)
        if found is not None:
            return _with_editor_settings(found, editor_settings)
        if _is_repository(candidate):
            break
    return _with_editor_settings(ProjectFile(folder, None, Project()), editor_settings)


def _settings_in(folder: Path) -> ProjectFile | None:
    files = (folder / name for name in (SETTINGS_FILE, PYPROJECT_FILE))
    return next((found for file in files if (found := _read(file)) and not _is_planted(file)), None)


def _is_repository(folder: Path) -> bool:
    entry = folder / ".git"
    return current_scope().allows(folder) and os.path.lexists(entry) and not _is_planted(entry)


def _is_checkout(folder: Path) -> bool:
    """Return whether a folder is the package of OpenCompass, or contains it."""
    packages = (folder, folder / "opencompass")
    return any((each / _OPENCOMPASS_FILE).is_file() and not _is_planted(each) for each in packages)


def _is_planted(file: Path) -> bool:
    """Return whether another user may have created a file: in folders like `/tmp`, everybody may."""
    if os.name == "nt":
        return False
    try:
        folder, owner = file.parent.stat().st_mode, file.lstat().st_uid
    except OSError:
        return True
    return bool(folder & stat.S_ISVTX and folder & stat.S_IWOTH and owner not in {0, os.geteuid()})


def _without_dots(path: Path) -> Path:
    """Return the absolute path without `..`, so that its parents are the folders around it."""
    return Path(os.path.normpath(path.absolute()))


def project_folder(path: Path) -> Path | None:
    """Return the folder of the project around a file or folder: the nearest with settings or a repository.

    So is OpenCompass, even if it is not a repository. None outside of any project. The home folder contains
    projects and downloads, and is no project around them, even if it has settings or is a repository.
    """
    path = _without_dots(path)
    folder = path if path.is_dir() else path.parent
    for candidate in (folder, *folder.parents):
        if candidate != path and covers_home(candidate):
            return None
        scope = scope_of([candidate])
        with reading_within(lambda scope=scope: scope):  # type: ignore[misc]  # settings may be a link
            if _settings_in(candidate) or _is_repository(candidate) or _is_checkout(candidate):
                return candidate
    return None


def folder_to_trust(path: Path) -> Path:
    """Return the folder that must be trusted for a file or folder: that of its project, else its own.

    For a file in the home folder, that is the file itself.
    """
    path = _without_dots(path)
    if not current_scope().allows(path):  # not accessed: somebody may have written the path
        return path.parent
    if path.is_dir():
        return project_folder(path) or path
    return project_folder(path) or (path if covers_home(path.parent) else path.parent)


def _with_editor_settings(project: ProjectFile, editor_settings: Mapping[str, object] | None) -> ProjectFile:
    """Return the project overridden by the editor's settings; mappings such as `rules` are merged by key."""
    if not editor_settings:
        return project
    values = project.settings.model_dump(exclude_unset=True)
    for key, value in editor_settings.items():
        known = values.get(key)
        values[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    settings, problems = _validate(values, None, "")
    return replace(project, settings=settings, problems=(*project.problems, *problems))


def edited_project(
    project: ProjectFile, text: str, editor_settings: Mapping[str, object] | None
) -> ProjectFile:
    """Return the project with the text of its file replaced."""
    found = project_in(project.path, text) if project.path is not None else None
    return project if found is None else _with_editor_settings(found, editor_settings)


def _read(file: Path) -> ProjectFile | None:
    """Return the project in `file`, or None if `file` does not exist or has no settings of promptls."""
    from promptls.settings.project import Project

    try:
        text = read_text(file, "utf-8-sig", limit=MAX_SETTINGS_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        if file.name == SETTINGS_FILE and not isinstance(
            error, FileNotFoundError | NotADirectoryError | OutsideScopeError
        ):
            reason = error.strerror if isinstance(error, OSError) else error
            problem = SettingsProblem(FilePlace(file), f"the settings cannot be read: {reason}")
            return ProjectFile(file.parent, file, Project(), (problem,))
        return None
    return project_in(file, text)


def project_in(file: Path, text: str) -> ProjectFile | None:
    """Return the project that a settings file with this text declares.

    None if it has no settings of promptls.
    """
    from promptls.settings.project import Project

    try:
        values = _parse(text)
    except (TooLargeTomlError, ValueError) as error:
        if file.name == PYPROJECT_FILE and "tool.promptls" not in text:
            return None
        if isinstance(error, TooLargeTomlError):
            place = line_column(line_starts(text), error.offset)
            problem = SettingsProblem(
                FilePlace(file, place.line, place.column), f"the settings are not read: {error}"
            )
        else:
            problem = SettingsProblem(_toml_place(file, str(error)), f"the file is not valid TOML: {error}")
        return ProjectFile(file.parent, file, Project(), (problem,), text)
    if file.name == PYPROJECT_FILE:
        tool = values.get("tool")
        section = tool.get("promptls") if isinstance(tool, dict) else None
        if not isinstance(section, dict):
            misplaced = _misplaced(file, text, values)
            return ProjectFile(file.parent, file, Project(), (misplaced,), text) if misplaced else None
        values = section
    settings, problems = _validate(values, file, text)
    return ProjectFile(file.parent, file, settings, problems, text)


def _misplaced(file: Path, text: str, values: dict[str, Any]) -> SettingsProblem | None:
    """Return the problem of a table that is meant for promptls but has a wrong name, or None."""
    tool = values.get("tool")
    names = tool if isinstance(tool, dict) else {}
    typo = next((name for name in names if is_typo(name, "promptls") and isinstance(names[name], dict)), None)
    at = ("tool", typo) if typo is not None else ("promptls",)
    if typo is None and not isinstance(values.get("promptls"), dict):
        return None
    span = next((name.span for name in toml_names(text) if name.keys == at), None)
    place = line_column(line_starts(text), span.start) if span else None
    return SettingsProblem(
        FilePlace(file, place.line, place.column) if place else FilePlace(file),
        f"promptls does not read `[{'.'.join(at)}]`; did you mean `[tool.promptls]`?",
    )


def _parse(text: str) -> dict[str, Any]:
    # The standard library includes the parser since Python 3.11; before, `tomli` is installed.
    check_size(text)
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    values: dict[str, Any] = toml.loads(text.removeprefix("\ufeff"))
    return values


def _validate(
    values: dict[str, Any], file: Path | None, text: str
) -> tuple[Project, tuple[SettingsProblem, ...]]:
    from promptls.settings.project import Project

    settings, invalid = valid_part(Project, values)
    placed = [
        (_nearest_place(file, text, _existing_prefix(values, found.path)) if file else None, found)
        for found in invalid
    ]
    placed.sort(key=lambda each: place_order(each[0]))
    placed, rest = placed[:MAX_PROBLEMS], placed[MAX_PROBLEMS:]
    reported = tuple(found for _, found in placed)
    misspelled = {
        (*above, meant)
        for *above, name in (found.path for found in reported if found.is_unknown_key)
        if (meant := nearest(str(name), names_at(Project, tuple(above))))
    }
    nameless = first_without_name(reported, Project)
    problems = [
        SettingsProblem(place, message)
        for place, found in placed
        if (message := nameless.get(found.path, _message(found, file)))
        and (found.is_unknown_key or found.path not in misspelled)
    ]
    if rest:
        problems.append(SettingsProblem(rest[0][0], f"{plural(len(rest), 'more problem')} from here on"))
    return settings, tuple(problems)


def _existing_prefix(values: Any, path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the longest prefix of `path` that exists: a missing name has no position."""
    for length, name in enumerate(path):
        if not (isinstance(values, dict) and name in values):
            return path[:length]
        values = values[name]
    return path


def place_order(place: FilePlace | None) -> tuple[int, int]:
    """Return the sorting key of a place in the settings; what has no line comes first."""
    return (-1, 0) if place is None or place.line is None else (place.line, place.column or 0)


def _message(found: Invalid, file: Path | None) -> str:
    from promptls.settings.project import Project

    key = ".".join(map(str, found.path))
    if found.is_unknown_key and file is not None and key in {"tool", "promptls"}:
        return f"in `{file.name}`, settings belong at the top, not below `[{key}]`"
    if found.is_unknown_key:
        return f"there is no setting `{key}`{unknown_key_message(found, Project)}"
    if found.kind == "dict_type" and names_at(Project, (*found.path, "")):
        return f"the setting `{key}` is wrong: input should be tables with names: `[{key}.NAME]`"
    said = wrong_value_message(found, key, f"`{key}` is wrong")
    return f"the setting {_UNQUOTED_LIST.sub(_LIST_OF_TEXT, said)}"


def place_of_setting(project: ProjectFile, location: tuple[str | int, ...]) -> FilePlace | None:
    """Return where a setting is in the project's file, or None if only the editor sets it.

    An index at the end of `location` leads to an item of a list, or to the list's key if the item is not a
    text on one line.
    """
    if project.path is None:
        return None
    is_item = isinstance(location[-1], int)
    written = _written_places(project.text, project.path.name)
    place = written.get(location) or (written.get(location[:-1]) if is_item else None)
    return FilePlace(project.path, *place) if place else None


def _nearest_place(file: Path, text: str, location: tuple[str | int, ...]) -> FilePlace:
    """Return the position of the longest prefix of `location` that is in the file."""
    written = _written_places(text, file.name)
    around = (location[:length] for length in range(len(location), 0, -1))
    found = next((written[each] for each in around if each in written), (None, None))
    return FilePlace(file, *found)


@lru_cache(maxsize=8)
def _written_places(text: str, file_name: str) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Return the first line and column of each setting, by the names and indexes that lead to it."""
    starts = line_starts(text)
    found: dict[tuple[str | int, ...], tuple[int, int]] = {}
    for name in setting_names(text, file_name):
        if name.is_key or isinstance(name.keys[-1], int):
            place = line_column(starts, name.span.start)
            found.setdefault(name.keys, (place.line, place.column))
    return found


def _toml_place(file: Path, message: str) -> FilePlace:
    found = re.search(r"at line (\d+), column (\d+)", message)
    return FilePlace(file, int(found[1]) - 1, int(found[2]) - 1) if found else FilePlace(file)
