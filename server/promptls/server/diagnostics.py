"""Diagnostics of files: published, or reported to a client that pulls them."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.facts import Reads, recording
from promptls.lint.rule import page_file
from promptls.semantic.kind import Kind
from promptls.server.context import Event
from promptls.server.open_documents import MANY_CHUNKS, prepare
from promptls.server.progress import Slices, progress, send_part
from promptls.server.to_proto import SEVERITIES, path_of, range_json, uri_of
from promptls.workspace.snapshot import read_included

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptls.lint.rule import Finding
    from promptls.rendering.file_rendering import FileRendering
    from promptls.server.context import Context
    from promptls.server.state.latest_runs import LatestRuns
    from promptls.server.state.scan import WorkspaceScan
    from promptls.syntax.source import Source
    from promptls.text.positions import Span
    from promptls.workspace.snapshot import Snapshot


log = logging.getLogger(__name__)

SOURCE: Final = "promptls"
_RELATED_SECONDS: Final = 0.003
"""How long an answer may wait for diagnostics of other files."""
_TYPING_SECONDS: Final = 0.5
"""How long new diagnostics at the cursor wait for the next letter."""
_TYPED_LENGTH: Final = 2
"""The longest edit that counts as typing: a letter, or a bracket that the editor closes."""

Json = dict[str, Any]


class Publisher:
    """Publishes the diagnostics of files, if they differ from the last ones published."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._published: dict[str, list[Json]] = {}

    @property
    def paths(self) -> list[str]:
        """The files for which the client has diagnostics."""
        return list(self._published)

    def published(self, path: str) -> list[Json]:
        """Return the diagnostics of a file that the client has."""
        return self._published.get(path, [])

    def publish(self, path: str, found: list[Json], version: int | None = None) -> None:
        """Send the diagnostics of a file, unless the client already has them."""
        if found == self.published(path):
            return
        if found:
            self._published[path] = found
        else:
            self._published.pop(path)
        params: Json = {"uri": self._context.uri_of(path), "diagnostics": found}
        if version is not None:
            params["version"] = version
        self._context.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)


class Diagnostics:
    """The latest diagnostics of each open file, and when they are sent.

    New diagnostics at the place where the user is typing are sent after a pause: a name that is typed half
    is unknown for a moment only.
    """

    def __init__(self, context: Context, rendered: RenderedFindings, runs: LatestRuns) -> None:
        self._context: Final = context
        self._rendered: Final = rendered
        self._runs: Final = runs
        self._publisher: Final = Publisher(context)
        self._waiting: dict[str, None] = {}
        self._answered: dict[str, tuple[int, list[Json]]] = {}
        self._reads: dict[str, Reads] = {}
        """For each file, what the diagnostics at the client were computed from."""
        self._next_result = 1
        self._typing: dict[str, tuple[int, asyncio.TimerHandle]] = {}
        """Where the user is typing in each file, and what ends the wait."""

    # -- events -----------------------------------------------------------------------

    def on_did_edit(self, path: str, span: Span, length: int) -> None:
        """Let new diagnostics at the end of a short edit wait, if they can be sent without a request."""
        self._end_typing(path)
        if max(length, span.end - span.start) <= _TYPED_LENGTH and self._sends_updates:
            waiting = asyncio.get_running_loop().call_later(_TYPING_SECONDS, self._on_pause, path)
            self._typing[path] = span.start + length, waiting

    @property
    def _sends_updates(self) -> bool:
        """Whether the client gets diagnostics that it did not request."""
        capabilities = self._context.capabilities
        return not capabilities.pulls_diagnostics or capabilities.refreshes_diagnostics

    def _on_pause(self, path: str) -> None:
        self._end_typing(path)
        self.refresh([path])

    def _end_typing(self, path: str) -> None:
        if path in self._typing:
            self._typing.pop(path)[1].cancel()

    def on_did_change(self, path: str) -> None:
        """Publish the diagnostics of a file with a new text."""
        if not self._context.capabilities.pulls_diagnostics:
            self._schedule(path)

    def refresh(self, paths: list[str]) -> None:
        """Update the diagnostics of files that a change outside of their own text may affect."""
        if self._sends_updates:
            for path in paths:
                self._schedule(path)

    def on_did_close(self, path: str) -> None:
        """Remove the diagnostics of a closed file."""
        self._waiting.pop(path, None)
        self._answered.pop(path, None)
        self._reads.pop(path, None)
        self._end_typing(path)
        self._publisher.publish(path, [])

    # -- pull ---------------------------------------------------------------------------

    def report(self, path: str, previous: str | None) -> Json:
        """Return the report on a file: its diagnostics, or that the `previous` result is unchanged."""
        answered = self._answered.get(path)
        if answered is None or path in self._context.snapshot.open_files or not self.is_current(path):
            found, self._reads[path] = self._computed(path)
        else:
            found = answered[1]
        if answered is None or answered[1] != found:
            answered = self._answered[path] = (self._next_result, found)
            self._next_result += 1
        result = str(answered[0])
        if result == previous:
            return {"kind": "unchanged", "resultId": result}
        return {"kind": "full", "resultId": result, "items": found}

    def related(self, path: str) -> dict[str, Json]:
        """Return reports on other open files whose diagnostics differ from the last answer.

        The number is limited by time; the other files follow at the next pause.
        """
        begun = time.perf_counter()
        found: dict[str, Json] = {}
        for other in self._context.snapshot.open_files:
            if time.perf_counter() - begun > _RELATED_SECONDS:
                break
            if other != path and not self.is_current(other) and self._differs(other):
                found[self._context.uri_of(other)] = self.report(other, None)
        return found

    # -- updates without a request ----------------------------------------------------------

    def _schedule(self, path: str) -> None:
        """Update after all messages that have arrived are handled: the loop reads input once in between."""
        if not self._waiting:
            self._update_soon()
        self._waiting[path] = None

    def _update_soon(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._update_next)

    def _update_next(self) -> None:
        """Publish the diagnostics of one file, or have a client that pulls request them.

        The other files follow after the messages that arrive meanwhile, as there may be many.
        """
        if not self._waiting:
            return
        path = next(iter(self._waiting))
        del self._waiting[path]
        opened = self._context.snapshot.open_files.get(path)
        if self._context.capabilities.pulls_diagnostics:
            if self._differs(path):
                self._waiting.clear()  # the client requests those of all files
                self._context.server.workspace_diagnostic_refresh(None)
        elif opened is not None:
            found, self._reads[path] = self._computed(path)
            self._publisher.publish(path, found, opened.version)
        if self._waiting:
            self._update_soon()

    def _differs(self, path: str) -> bool:
        """Return whether the last answer for the file is out of date."""
        answered = self._answered.get(path)
        if answered is None:
            return False
        found, reads = self._computed(path)
        if answered[1] == found:
            self._reads[path] = reads
            return False
        return True

    # -- findings -------------------------------------------------------------------------

    def is_current(self, path: str) -> bool:
        """Return whether nothing that the diagnostics at the client were computed from has changed."""
        reads = self._reads.get(path)
        return reads is not None and reads.hold(self._context.snapshot)

    def findings(self, path: str, rendered: Iterable[Finding] | None = None) -> tuple[Finding, ...]:
        """Return the findings in the current text of a file; an empty list if it is not a prompt.

        `rendered` are the findings of a rendering, by default of the last one.
        """
        if not self._context.is_checked(path):
            return ()
        from promptls.lint.runner import check

        snapshot = self._context.snapshot
        return (
            *check(snapshot, path),
            *(self._rendered.latest(path) if rendered is None else rendered),
            *self._of_runs(snapshot, path),
        )

    def _of_runs(self, snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
        runs = self._runs.latest(path)
        if not runs:
            return ()
        from promptls.ide.experiment_runs import run_findings

        return run_findings(snapshot, path, runs)

    def current(self, path: str, rendered: Iterable[Finding] | None = None) -> list[Json]:
        """Return the diagnostics of the current findings; log an exception, and return an empty list."""
        return self._computed(path, rendered)[0]

    def _computed(self, path: str, rendered: Iterable[Finding] | None = None) -> tuple[list[Json], Reads]:
        """Return the diagnostics of a file, and what they were computed from."""
        reads = Reads()
        try:
            with recording() as reads:
                found = self.findings(path, rendered)
                template = self._context.snapshot.template(path) if found else None
                if template is None:
                    return [], reads
                made = [diagnostic_json(self._context, template.source, each) for each in found]
                return self._without_new_at_cursor(path, made, found), reads
        except Exception:
            log.exception("the diagnostics of %s cannot be made", path)
            return [], reads

    def _without_new_at_cursor(self, path: str, made: list[Json], found: tuple[Finding, ...]) -> list[Json]:
        """Leave out the diagnostics at the place of typing that the client does not have."""
        if path not in self._typing:
            return made
        typed, _ = self._typing[path]
        known = {(each["code"], str(each["range"]["start"])) for each in self._sent(path)}
        return [
            each
            for each, finding in zip(made, found, strict=True)
            if not finding.span.start <= typed <= finding.span.end
            or (each["code"], str(each["range"]["start"])) in known
        ]

    def _sent(self, path: str) -> list[Json]:
        if self._context.capabilities.pulls_diagnostics:
            return self._answered[path][1] if path in self._answered else []
        return self._publisher.published(path)


def diagnostic_json(context: Context, source: Source, finding: Finding) -> Json:
    """Return a finding in the text `source` as a diagnostic, with what the client supports."""
    capabilities = context.capabilities
    made: Json = {
        "range": range_json(source, finding.span, context.encoding),
        "severity": SEVERITIES[finding.severity or "warning"].value,
        "code": finding.rule,
        "source": SOURCE,
        "message": finding.message,
    }
    if capabilities.code_descriptions and (page := page_file(finding.rule)) is not None:
        made["codeDescription"] = {"href": uri_of(str(page))}
    if finding.fixes and capabilities.diagnostic_data:
        made["data"] = {"fixes": [fix.title for fix in finding.fixes]}
    if finding.unnecessary and capabilities.diagnostic_tags:
        made["tags"] = [types.DiagnosticTag.Unnecessary.value]
    if finding.related and capabilities.related_information:
        made["relatedInformation"] = [
            {
                "location": {
                    "uri": context.uri_of(place.path),
                    "range": range_json(other.source, place.span, context.encoding),
                },
                "message": place.message,
            }
            for place in finding.related
            if (other := context.snapshot.template(place.path)) is not None
        ]
    return made


def diagnostic(
    context: Context, diagnostics: Diagnostics, params: types.DocumentDiagnosticParams
) -> dict[str, Any]:
    """Report the diagnostics of a document, and of related documents if the client supports that."""
    path = path_of(params.text_document.uri)
    report = diagnostics.report(path, params.previous_result_id)
    if context.capabilities.related_documents and (related := diagnostics.related(path)):
        report["relatedDocuments"] = related
    return report


_REPORTS_PER_PART: Final = 50
"""The number of documents per partial result."""
_NOT_REPORTED: Final[dict[str, Any]] = {"kind": "full", "resultId": "not reported", "items": []}


async def workspace_diagnostic(
    context: Context, diagnostics: Diagnostics, scan: WorkspaceScan, params: types.WorkspaceDiagnosticParams
) -> dict[str, Any]:
    """Report on each prompt file, and on each file that the client has diagnostics of."""
    await scan.finished()
    previous = {path_of(each.uri): each.value for each in params.previous_result_ids}
    snapshot = context.snapshot
    paths = sorted({*snapshot.known_paths, *previous})
    token = params.partial_result_token
    items: list[dict[str, Any]] = []
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if params.work_done_token is not None:
            shown = await stack.enter_async_context(
                progress(context, params.work_done_token, "Checking prompt files")
            )
        for index, path in enumerate(paths):
            await slices.pause()
            template = None if diagnostics.is_current(path) else snapshot.template(path)
            if template is not None and len(template.source.chunks) >= MANY_CHUNKS:
                await prepare(context, path, template.source)
            if path not in previous and not _is_reported(context, path):
                continue
            items.append(_report(context, diagnostics, path, previous.get(path)))
            if index % _REPORTS_PER_PART == 0 and shown is not None:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
            if len(items) >= _REPORTS_PER_PART and token is not None:
                send_part(context, token, {"items": items})
                items = []
    if token is not None:
        send_part(context, token, items and {"items": items})
        items = []
    return {"items": items}


def _report(context: Context, diagnostics: Diagnostics, path: str, previous: str | None) -> dict[str, Any]:
    """Return the diagnostics of a file, or that the `previous` result is unchanged."""
    opened = context.snapshot.open_files.get(path)
    if opened is not None or context.snapshot.project(path).settings.diagnostics.closed_files:
        report = diagnostics.report(path, previous)
    elif previous == _NOT_REPORTED["resultId"]:
        report = {"kind": "unchanged", "resultId": previous}
    else:
        report = _NOT_REPORTED
    return {**report, "uri": context.uri_of(path), "version": opened.version if opened else None}


def _is_reported(context: Context, path: str) -> bool:
    """Return whether to report on a file without diagnostics at the client."""
    if not context.is_checked(path):
        return False
    snapshot = context.snapshot
    return path in snapshot.open_files or snapshot.project(path).settings.diagnostics.closed_files


class RenderedFindings:
    """The findings of the last rendering of each open file, mapped to the current text.

    White space that was just typed is not reported until the next edit elsewhere or until the file is saved:
    usually a word follows.
    """

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_change: Event[[list[str]]] = Event()
        """The findings of these files have changed."""
        self._found: dict[str, tuple[Finding, ...]] = {}
        self._of_others: dict[str, tuple[Finding, ...]] = {}
        """The findings of renderings with other data, which are made after the chosen one."""
        self._typed: dict[str, int] = {}
        """Where the last edit of each file ended."""

    def latest(self, path: str) -> tuple[Finding, ...]:
        """Return the findings of the last rendering of a file."""
        found, typed = self._found.get(path, ()), self._typed.get(path)
        if all(finding.span.end != typed for finding in found):
            return found
        source = self._context.snapshot.open_files[path].template.source
        return tuple(
            finding
            for finding in found
            if finding.span.end != typed or source.slice(finding.span).strip(" \t")
        )

    def on_did_edit(self, path: str, span: Span, length: int) -> None:
        """Shift the findings after an edit, and drop those that it touches until the next rendering."""
        self._typed[path] = span.start + length
        for findings in (self._found, self._of_others):
            if path in findings:
                findings[path] = tuple(_move(findings[path], span, length))

    def on_render(self, snapshot: Snapshot, path: str, made: FileRendering) -> None:
        """Store the findings of a rendering, unless the file or its includes have changed since."""
        from promptls.lint.runner import check_rendering

        current = self._context.snapshot
        if path not in current.open_files:
            return
        with recording() as reads:
            read_included(snapshot, path)
        if not reads.hold(current):
            return
        try:
            found = () if current.kind(path) is Kind.OTHER else check_rendering(current, path, made)
            if others := made.failing or made.other_white_space or made.change:
                alone = replace(made, failing=(), other_white_space=(), change=None)
                found_alone = check_rendering(current, path, alone)
                self._of_others[path] = tuple(finding for finding in found if finding not in found_alone)
        except Exception:
            log.exception("the findings of the rendering of %s cannot be made", path)
            return
        if made.failing is None and made.rendering is not None:
            found = tuple(dict.fromkeys([*found, *self._of_others.get(path, ())]))
        elif not others:
            self._of_others.pop(path, None)
        if found != self._found.get(path, ()):
            self._found[path] = found
            self.on_change.emit([path])

    def on_files_change(self, paths: list[str]) -> None:
        """Report white space at the end of the last edit of files that were saved."""
        for path in paths:
            if self._typed.pop(path, None) is not None and path in self._found:
                self.on_change.emit([path])

    def on_did_close(self, path: str) -> None:
        """Forget the file."""
        self._found.pop(path, None)
        self._of_others.pop(path, None)
        self._typed.pop(path, None)


def _move(findings: Iterable[Finding], span: Span, length: int) -> Iterator[Finding]:
    by = length - (span.end - span.start)
    for finding in findings:
        spans = [finding.span, *(edit.span for fix in finding.fixes for edit in fix.edits)]
        if max(each.end for each in spans) < span.start:
            yield finding
        elif min(each.start for each in spans) > span.end:
            yield finding.shifted(by)
