"""Findings that need a rendering: they hold until the next one, and move with the text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from promptls.facts.reads import recording
from promptls.semantic.kind import Kind
from promptls.server.context import Context, Event
from promptls.workspace.snapshot import Snapshot, read_included

if TYPE_CHECKING:
    from promptls.lint.rule import Finding
    from promptls.rendering.file_rendering import FileRendering
    from promptls.text.positions import Span

log = logging.getLogger(__name__)


class RenderedFindings:
    """The findings of the last rendering of each open file, at their places in the current text."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_change: Event[[list[str]]] = Event()
        """The findings of these files have changed."""
        self._found: dict[str, tuple[Finding, ...]] = {}

    def latest(self, path: str) -> tuple[Finding, ...]:
        """Return the findings of the last rendering of a file."""
        return self._found.get(path, ())

    def on_did_edit(self, path: str, span: Span, length: int) -> None:
        """Move the findings behind an edit, and remove those that it touches until the next rendering."""
        known = self._found.get(path)
        if not known:
            return
        by = length - (span.end - span.start)
        remaining = []
        for finding in known:
            spans = [finding.span, *(edit.span for fix in finding.fixes for edit in fix.edits)]
            if max(each.end for each in spans) < span.start:
                remaining.append(finding)
            elif min(each.start for each in spans) > span.end:
                remaining.append(finding.shifted(by))
        self._found[path] = tuple(remaining)

    def on_render(self, snapshot: Snapshot, path: str, made: FileRendering) -> None:
        """Take the findings of a rendering, unless it is of a former text of the file or of its includes."""
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
        except Exception:
            log.exception("the findings of the rendering of %s cannot be made", path)
            return
        if found != self._found.get(path, ()):
            self._found[path] = found
            self.on_change.emit([path])

    def on_did_close(self, path: str) -> None:
        """Forget the file."""
        self._found.pop(path, None)
