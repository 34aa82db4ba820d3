"""Diagnostics of settings files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.server.diagnostics import SOURCE, Publisher
from promptls.text.positions import line_end, line_starts, units_from_column
from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE, project_in, toml_names

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.text.errors import FilePlace
    from promptls.workspace.settings import ProjectFile

log = logging.getLogger(__name__)

CODE: Final = "invalid-settings"

Json = dict[str, Any]


class SettingsFindings:
    """The diagnostics of the settings files: those of the open prompts' projects, and those that are open.

    They are pushed, also to clients that pull: no client requests those of a settings file.
    """

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._publisher: Final = Publisher(context)

    def refresh(self) -> None:
        """Check the settings again; they, or what they name, may have changed."""
        try:
            found = {str(project.path): self._diagnostics(project) for project in self._projects()}
            for path in {*self._publisher.paths, *found}:
                self._publisher.publish(path, found.get(path, []))
        except Exception:
            log.exception("the diagnostics of settings files cannot be made")

    def on_did_change(self, path: str) -> None:
        """Check the settings again if the open file at `path` is a settings file."""
        if _is_settings_file(path):
            self.refresh()

    def _projects(self) -> list[ProjectFile]:
        """Return the projects with a file of their own, with the text of the editor if it is open."""
        snapshot = self._context.snapshot
        found: dict[str, ProjectFile] = {}
        for path, opened in snapshot.open_files.items():
            if _is_settings_file(path):
                project = project_in(Path(path), opened.template.source.text)
            else:
                project = snapshot.project(path)
            if project is not None and project.path is not None:
                known = str(project.path)
                if known not in found or _is_settings_file(path):
                    found[known] = project
        return list(found.values())

    def _diagnostics(self, project: ProjectFile) -> list[Json]:
        from promptls.lint.settings_problems import settings_problems

        starts = line_starts(project.text)
        names = {name.span.start: name.span.end for name in toml_names(project.text)}
        return [
            {
                "range": self._range(project.text, starts, names, problem.place),
                "severity": types.DiagnosticSeverity.Error.value,
                "code": CODE,
                "source": SOURCE,
                "message": problem.message,
            }
            for problem in settings_problems(project)
            if problem.place is not None and problem.place.path == project.path
        ]

    def _range(self, text: str, starts: list[int], names: dict[int, int], place: FilePlace) -> Json:
        """Return the range of the name or text that is wrong, or of its line if only that is known.

        `names` are the ends of the names and texts in the file, by their starts.
        """
        line = place.line or 0
        start = starts[min(line, len(starts) - 1)]
        content = text[start : line_end(text, start)]
        first, last = 0, len(content)
        if place.column is not None:
            first = min(place.column, len(content))
            last = names.get(start + first, start + last) - start
        unit = self._context.encoding
        return {
            "start": {"line": line, "character": units_from_column(content, first, unit)},
            "end": {"line": line, "character": units_from_column(content, last, unit)},
        }


def _is_settings_file(path: str) -> bool:
    return path.endswith((SETTINGS_FILE, PYPROJECT_FILE)) and Path(path).name in {
        SETTINGS_FILE,
        PYPROJECT_FILE,
    }
