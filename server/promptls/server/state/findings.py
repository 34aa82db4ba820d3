"""Findings outside prompts: in settings files, datasets and programs."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsprotocol import types

from promptls.security.files import read_bytes
from promptls.semantic.kind import Kind
from promptls.server.diagnostics import SOURCE, Publisher, diagnostic_json
from promptls.server.to_proto import SEVERITIES
from promptls.syntax.toml_places import toml_names
from promptls.text.errors import UserError
from promptls.text.positions import line_end, line_starts, units_from_column
from promptls.workspace.settings import is_settings_file, project_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from promptls.lint.rule import Finding, Severity
    from promptls.lint.rules.experiments.dataset_rows import RowFinding
    from promptls.rendering.file_rendering import FileRendering
    from promptls.rendering.samples import Sample
    from promptls.server.context import Context
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
    from promptls.server.state.latest_renderings import Renderings
    from promptls.server.state.latest_runs import LatestRuns
    from promptls.text.errors import FilePlace
    from promptls.workspace.settings import ProjectFile
    from promptls.workspace.snapshot import Snapshot


log = logging.getLogger(__name__)

SETTINGS_CODE: Final = "invalid-settings"

Json = dict[str, Any]


class SettingsFindings:
    """The diagnostics of the settings files: those of the open prompts' projects, and those that are open.

    They are pushed, also to clients that pull: no client requests those of a settings file.
    """

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._publisher: Final = Publisher(context)

    def refresh(self) -> None:
        """Check the settings again; they, or the files they name, may have changed."""
        try:
            found = {str(project.path): self._diagnostics(project) for project in self._projects()}
            for path in {*self._publisher.paths, *found}:
                self._publisher.publish(path, found.get(path, []))
        except Exception:
            log.exception("the diagnostics of settings files cannot be made")

    def on_did_change(self, path: str) -> None:
        """Check the settings again if the open file at `path` is a settings file."""
        if is_settings_file(path):
            self.refresh()

    def _projects(self) -> list[ProjectFile]:
        """Return the projects that have a settings file, with the text of the editor if it is open."""
        snapshot = self._context.snapshot
        found: dict[str, ProjectFile] = {}
        for path, opened in snapshot.open_files.items():
            if is_settings_file(path):
                project = project_in(Path(path), opened.template.source.text)
            else:
                project = snapshot.project(path)
            if project is not None and project.path is not None:
                known = str(project.path)
                if known not in found or is_settings_file(path):
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
                "code": SETTINGS_CODE,
                "source": SOURCE,
                "message": problem.message,
            }
            for problem in settings_problems(project)
            if problem.place is not None and problem.place.path == project.path
        ]

    def _range(self, text: str, starts: list[int], names: dict[int, int], place: FilePlace) -> Json:
        """Return the range of the invalid name or string, or of its line if only that is known.

        `names` maps the starts of the names and strings in the file to their ends.
        """
        line = place.line or 0
        start = starts[min(line, len(starts) - 1)]
        content = text[start : line_end(text, start)]
        first, last = 0, len(content)
        if place.column is not None:
            first = min(place.column, len(content))
            last = names.get(start + first, start + last) - start
        encoding = self._context.encoding
        return {
            "start": {"line": line, "character": units_from_column(content, first, encoding)},
            "end": {"line": line, "character": units_from_column(content, last, encoding)},
        }


ROW_CODE: Final = "failing-row"
_MAX_ANSWER: Final = 200


class DataFindings:
    """The diagnostics of datasets from the last runs of the open prompts, and those of open data files.

    The latter are what prompts report about their samples and datasets on disk; nothing changes while such a
    file has unsaved edits. They are pushed, also to clients that pull: no client requests those of a dataset.
    """

    def __init__(self, context: Context, auxiliary: AuxiliaryDocuments, runs: LatestRuns) -> None:
        self._context: Final = context
        self._auxiliary: Final = auxiliary
        self._runs: Final = runs
        self._open: Final[set[str]] = set()
        self._publisher: Final = Publisher(context)
        self._by_prompt: dict[str, tuple[tuple[RowFinding, Severity], ...]] = {}

    def refresh(self, paths: list[str]) -> None:
        """Reread the last runs of the prompts at `paths`."""
        for path in paths:
            self._refresh(path)

    def _refresh(self, path: str) -> None:
        from promptls.ide.experiment_runs import row_findings

        try:
            self._take(path, row_findings(self._context.snapshot, path, self._runs.latest(path)))
        except Exception:
            log.exception("what the runs of %s say about their datasets cannot be shown", path)

    def on_did_open(self, path: str) -> None:
        """Show what prompts report about a data file."""
        from promptls.ide.data_files import DATA_SUFFIXES

        if Path(path).suffix.lower() in DATA_SUFFIXES:
            self._open.add(path)
            self._publish(Path(path))

    def refresh_open(self) -> None:
        """Update what prompts report about the open data files; they, or the prompts, may have changed."""
        for path in self._open:
            self._publish(Path(path))

    def on_did_close(self, path: str) -> None:
        """Remove the diagnostics of a closed data file, or those from the runs of a closed prompt."""
        self._take(path, ())
        if path in self._open:
            self._open.remove(path)
            self._publish(Path(path))

    def _take(self, path: str, found: tuple[tuple[RowFinding, Severity], ...]) -> None:
        before = self._by_prompt.pop(path, ())
        if found:
            self._by_prompt[path] = found
        for dataset in dict.fromkeys(row.dataset for row, _ in (*before, *found)):
            self._publish(dataset)

    def _publish(self, dataset: Path) -> None:
        from promptls.ide.experiment_runs import shown_rows

        found = [each for rows in self._by_prompt.values() for each in rows if each[0].dataset == dataset]
        severities = {row.run.prompt: severity for row, severity in found}
        shown = shown_rows(row for row, _ in found)
        try:
            reported = self._reported(str(dataset)) if str(dataset) in self._open else []
            diagnostics = self._diagnostics(dataset, shown, severities) if shown else []
        except (OSError, UserError):
            reported = diagnostics = []  # the dataset was deleted
        if reported is not None:
            self._publisher.publish(str(dataset), [*reported, *diagnostics])

    def _reported(self, path: str) -> list[Json] | None:
        """Return what prompts report about an open data file; None if it has unsaved edits."""
        from promptls.ide.data_files import findings_in_data

        self._auxiliary.flush(path)
        snapshot = self._context.snapshot
        opened = snapshot.open_file(path)
        if opened is None or snapshot.kind(path) is not Kind.OTHER:
            return []
        if opened.template.source.text != read_bytes(path).decode("utf-8-sig", errors="replace"):
            return None
        found = findings_in_data(snapshot, path) or ()
        return [diagnostic_json(self._context, opened.template.source, finding) for finding in found]

    def _diagnostics(
        self, dataset: Path, rows: Iterable[RowFinding], severities: Mapping[Path, Severity]
    ) -> list[Json]:
        text = read_bytes(str(dataset)).decode("utf-8", errors="replace")
        starts = line_starts(text)
        return [
            {
                "range": self._range(text, starts, row),
                "severity": SEVERITIES[severities[row.run.prompt]].value,
                "code": ROW_CODE,
                "source": SOURCE,
                "message": row.message,
                **self._related(row),
            }
            for row in rows
        ]

    def _related(self, row: RowFinding) -> Json:
        """Return a link to the result in the table of the run, with the answer of the model."""
        if not self._context.capabilities.related_information:
            return {}
        start = {"line": row.result_line, "character": 0}
        location = {
            "uri": self._context.uri_of(str(row.run.results)),
            "range": {"start": start, "end": start},
        }
        answer = " ".join(row.response.split())[:_MAX_ANSWER]
        message = f"the result; the answer was: {answer}" if answer else "the result"
        return {"relatedInformation": [{"location": location, "message": message}]}

    def _range(self, text: str, starts: list[int], row: RowFinding) -> Json:
        """Return the lines of the row: several if a quoted cell has line breaks."""
        last = min(row.end, len(starts)) - 1
        while last > row.line and not text[starts[last] : line_end(text, starts[last])].strip():
            last -= 1
        content = text[starts[last] : line_end(text, starts[last])]
        width = units_from_column(content, len(content), self._context.encoding)
        return {
            "start": {"line": min(row.line, last), "character": 0},
            "end": {"line": last, "character": width},
        }


_ENDING: Final = ".py"
_PAUSE_SECONDS: Final = 0.3
"""The pause in typing after which the calls in a program are checked."""


class ProgramFindings:
    """The diagnostics in the programs that the client has open.

    Those are the diagnostics of calls that load prompts, of other uses of promptls, Ragas and Prompt Poet, of
    templates in the program, which are rendered, and of OpenCompass configurations. They are pushed, also to
    clients that pull: no client requests those of a program from this server.
    """

    def __init__(
        self, context: Context, auxiliary: AuxiliaryDocuments, renderings: Callable[[], Renderings]
    ) -> None:
        self._context: Final = context
        self._auxiliary: Final = auxiliary
        self._renderings: Final = renderings
        self._publisher: Final = Publisher(context)
        self._timer: asyncio.TimerHandle | None = None
        self._checks: Final[dict[str, _Check]] = {}
        self._found: Final[dict[str, tuple[str, tuple[Finding, ...]]]] = {}
        """The last text of each program that was checked, and its findings."""

    def on_did_change(self, path: str) -> None:
        """Check a document with a new text after a pause."""
        if path.endswith(_ENDING):
            self.close()
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.refresh)

    def on_did_close(self, path: str) -> None:
        """Remove the diagnostics of a closed document."""
        self._checks.pop(path, None)
        self._found.pop(path, None)
        self._publisher.publish(path, [])

    def findings(self, path: str) -> tuple[Finding, ...]:
        """Return the findings in the current text of a program; empty if they are not known yet."""
        auxiliary = self._context.snapshot.auxiliary.get(path)
        text, found = self._found.get(path, ("", ()))
        return found if auxiliary is not None and auxiliary.template.source.text == text else ()

    def close(self) -> None:
        """Cancel the check."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def refresh(self) -> None:
        """Check the programs again; they, or the prompts that they load, may have changed."""
        try:
            self._auxiliary.flush(_ENDING)
            snapshot = self._context.snapshot
            found = {path: self._diagnostics(path) for path in snapshot.auxiliary if path.endswith(_ENDING)}
            for path in {*self._publisher.paths, *found}:
                if (diagnostics := found.get(path, [])) is not None:
                    self._publisher.publish(path, diagnostics)
        except Exception:
            log.exception("the diagnostics of programs cannot be made")

    def _diagnostics(self, path: str) -> list[Json] | None:
        """Return the diagnostics of a program; None if it is still being checked."""
        from promptls.programs.configurations import is_configuration
        from promptls.programs.findings import findings_of_program
        from promptls.programs.program import may_use_library

        snapshot = self._context.snapshot
        source = snapshot.auxiliary[path].template.source
        is_known = path in snapshot.calls or path in snapshot.written or may_use_library(source.text)
        if not is_known and not is_configuration(source.text):
            return []
        found = self._checked_in_background(path, source.text)
        if found is None:
            return None
        findings = findings_of_program(snapshot, path, source.text, found)
        self._found[path] = source.text, findings
        return [diagnostic_json(self._context, source, finding) for finding in findings]

    def _checked_in_background(self, path: str, text: str) -> tuple[Finding, ...] | None:
        """Return the findings that take long to compute; None if they are being computed."""
        snapshot = self._context.snapshot
        project, is_trusted = snapshot.project(path), snapshot.trusts(path)
        known = self._checks.get(path)
        if known is None or (known.text, known.project, known.is_trusted) != (text, project, is_trusted):
            self._checks[path] = known = _Check(text, project, is_trusted)
            self._context.start(self._check(snapshot, path, known), "the check of a program")
        return known.findings

    async def _check(self, snapshot: Snapshot, path: str, check: _Check) -> None:
        """Check a configuration in a thread, since it may import hundreds of files; render templates."""
        from promptls.programs.templates import findings_in_renderings

        found: list[Finding] = []
        try:
            found += await asyncio.to_thread(_findings_in_configuration, path, check)
            found += await findings_in_renderings(snapshot, path, self._render)
        except Exception:
            log.exception("%s cannot be checked completely", path)
        if self._checks.get(path) is check:
            self._checks[path] = check._replace(findings=tuple(found))
            self.refresh()

    async def _render(
        self, snapshot: Snapshot, path: str, sample: Callable[[], Sample]
    ) -> FileRendering | None:
        from promptls.lint.runner import needs_rendering
        from promptls.rendering.make import render_file

        if not needs_rendering(snapshot, path):
            return None
        return await render_file(self._renderings().worker(snapshot, path), snapshot, path, sample)


class _Check(NamedTuple):
    """The check of a program, and what it depends on; it has no findings while it is running."""

    text: str
    project: ProjectFile
    is_trusted: bool
    findings: tuple[Finding, ...] | None = None


def _findings_in_configuration(path: str, check: _Check) -> tuple[Finding, ...]:
    from promptls.programs.configurations import findings_in_configuration, is_configuration
    from promptls.workspace.configuration_files import ConfigurationFiles

    if not is_configuration(check.text) or check.project.excludes(path):
        return ()
    files = ConfigurationFiles(path, check.project)
    return findings_in_configuration(check.text, files, check.project.settings) or ()


def report_problems(context: Context) -> None:
    """Log problems in the settings of the editor for the open files, each once.

    Problems in a settings file are reported as diagnostics.
    """
    from promptls.lint.settings_problems import settings_problems

    for path in context.snapshot.open_files:
        for problem in settings_problems(context.snapshot.project(path)):
            text = f"editor settings: {problem.message}"
            if problem.place is None and text not in context.reported:
                context.reported.add(text)
                context.log(text, types.MessageType.Warning)
