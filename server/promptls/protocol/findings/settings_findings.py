"""What is wrong in the settings, shown in the settings files themselves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.text.lines import line_end, line_starts, units_from_column
from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE, project_in
from promptls.workspace.toml_names import toml_names

if TYPE_CHECKING:
    from promptls.protocol.session import Session
    from promptls.workspace.project_settings import ProjectFile, SettingsProblem

log = logging.getLogger(__name__)

SOURCE: Final = "promptls"
CODE: Final = "invalid-settings"

Json = dict[str, Any]


class SettingsFindings:
    """The diagnostics of the settings files: those of the open prompts' projects, and those that are open.

    They are pushed, to clients that ask for diagnostics too: nobody asks for those of a settings file.
    """

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._published: dict[str, list[Json]] = {}

    def look_again(self) -> None:
        """The settings, or what they name, may be others than they were."""
        try:
            found = {str(project.path): self._diagnostics(project) for project in self._projects()}
            for path in {**self._published, **found}:
                self._publish(path, found.get(path, []))
        except Exception:
            log.exception("what is wrong in the settings cannot be shown")

    def file_changed(self, path: str) -> None:
        """A file that is open has another text, or is open now, or no longer."""
        if _is_settings_file(path):
            self.look_again()

    def _projects(self) -> list[ProjectFile]:
        """The projects with a file of their own, by the text of the editor where it is open."""
        snapshot = self._session.snapshot
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

    def _publish(self, path: str, found: list[Json]) -> None:
        if found == self._published.get(path, []):
            return
        if found:
            self._published[path] = found
        else:
            del self._published[path]
        params = {"uri": self._session.uri_of(path), "diagnostics": found}
        self._session.server.protocol.notify_json(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _diagnostics(self, project: ProjectFile) -> list[Json]:
        from promptls.rules.checking.settings_problems import settings_problems

        return [
            {
                "range": self._range(project.text, problem),
                "severity": types.DiagnosticSeverity.Error.value,
                "code": CODE,
                "source": SOURCE,
                "message": problem.message,
            }
            for problem in settings_problems(project)
            if problem.place is not None and problem.place.path == project.path
        ]

    def _range(self, text: str, problem: SettingsProblem) -> Json:
        """The name or text that is wrong, or its line where only that is known."""
        assert problem.place is not None
        line = problem.place.line or 0
        starts = line_starts(text)
        start = starts[min(line, len(starts) - 1)]
        content = text[start : line_end(text, start)]
        first, last = 0, len(content)
        if problem.place.column is not None:
            first = min(problem.place.column, len(content))
            named = next((name for name in toml_names(text) if name.span.start == start + first), None)
            last = named.span.end - start if named else last
        unit = self._session.unit
        return {
            "start": {"line": line, "character": units_from_column(content, first, unit)},
            "end": {"line": line, "character": units_from_column(content, last, unit)},
        }


def _is_settings_file(path: str) -> bool:
    return path.endswith((SETTINGS_FILE, PYPROJECT_FILE)) and Path(path).name in {
        SETTINGS_FILE,
        PYPROJECT_FILE,
    }
