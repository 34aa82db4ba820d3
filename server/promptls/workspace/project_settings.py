"""The settings of the project that a file belongs to.

They stand in `promptls.toml`, or under `[tool.promptls]` in `pyproject.toml`, in the
nearest folder above the file that has either; the editor's settings lie over them, key by
key. A wrong key costs only itself: it becomes a problem, and the others hold.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from promptls.settings.project import Project
from promptls.text.failure import FilePlace
from promptls.text.nearest import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """A setting that could not be taken: what is wrong, and in which file; the editor's have no place."""

    message: str
    place: FilePlace | None = None


@dataclass(frozen=True)
class ProjectFile:
    """A project's settings: its folder, the file they come from (if any), and what was wrong in them."""

    root: Path
    settings: Project = field(default_factory=Project)
    path: Path | None = None
    problems: tuple[SettingsProblem, ...] = ()

    def includes(self, path: str) -> bool:
        """Whether the settings say that the file is a prompt file, whatever it looks like."""
        return self._matches(path, self.settings.include)

    def excludes(self, path: str) -> bool:
        """Whether the settings say that the file is to be left alone."""
        return self._matches(path, self.settings.exclude)

    def _matches(self, path: str, globs: list[str]) -> bool:
        try:
            relative = Path(path).relative_to(self.root).as_posix()
        except ValueError:
            relative = Path(path).as_posix()
        return any(fnmatch(relative, glob) or fnmatch(relative, f"{glob.rstrip('/')}/*") for glob in globs)


def find_project(path: Path, editor_settings: Mapping[str, object] | None = None) -> ProjectFile:
    """The settings that hold for the file or folder at `path`. Never raises on bad settings.

    Where no folder above has a settings file, the root is the file's own folder.
    """
    folder = path if path.is_dir() else path.parent
    problems: list[SettingsProblem] = []
    for current in (folder, *folder.parents):
        found = _read(current, problems)
        if found is not None:
            file, data = found
            settings = _validated(_over(data, editor_settings), file, problems)
            return ProjectFile(current, settings, file, tuple(problems))
    return ProjectFile(folder, _validated(dict(editor_settings or {}), None, problems), None, tuple(problems))


def _read(folder: Path, problems: list[SettingsProblem]) -> tuple[Path, dict[str, Any]] | None:
    """The settings file of a folder and what it holds, or None where the folder has none."""
    own = folder / "promptls.toml"
    if own.is_file():
        return own, _loaded(own, problems)
    shared = folder / "pyproject.toml"
    if shared.is_file():
        tool = _loaded(shared, problems).get("tool")
        if isinstance(tool, dict) and isinstance(tool.get("promptls"), dict):
            return shared, tool["promptls"]
    return None


def _loaded(file: Path, problems: list[SettingsProblem]) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(SettingsProblem(f"the settings cannot be read: {error}", FilePlace(file)))
        return {}


def _over(project: Mapping[str, Any], editor: Mapping[str, object] | None) -> dict[str, Any]:
    """The editor's keys over the project's; within `rules` and the like, key by key."""
    merged = dict(project)
    for key, value in (editor or {}).items():
        known = merged.get(key)
        merged[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _validated(data: dict[str, Any], file: Path | None, problems: list[SettingsProblem]) -> Project:
    from pydantic import ValidationError

    place = FilePlace(file) if file else None
    for _attempt in range(len(data) + 1):
        try:
            return Project.model_validate(data)
        except ValidationError as error:
            for found in error.errors():
                key = str(found["loc"][0])
                if key in data:
                    name = ".".join(str(part) for part in found["loc"])
                    unknown = found["type"] == "extra_forbidden"
                    wrong = (
                        f"unknown setting `{name}`{did_you_mean(key, Project.model_fields)}"
                        if unknown
                        else f"setting `{name}`: {found['msg'][:1].lower()}{found['msg'][1:]}"
                    )
                    problems.append(SettingsProblem(wrong, place))
            data = {key: value for key, value in data.items() if not _is_wrong(key, error)}
    return Project()


def _is_wrong(key: str, error: Any) -> bool:
    return any(found["loc"] and str(found["loc"][0]) == key for found in error.errors())
