"""The findings that need a rendering: kept from one rendering to the next, and moved along with the text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from promptls.meaning.kind import Kind
from promptls.meaning.template import Template
from promptls.rules.rule import Finding
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session
    from promptls.rendering.file_rendering import FileRendering

log = logging.getLogger(__name__)


class RenderedFindings:
    """Of each open file, what its newest rendering says against it, at its place in the text of now."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._found: dict[str, tuple[Finding, ...]] = {}

    def newest(self, path: str) -> tuple[Finding, ...]:
        """The findings that are known of the file."""
        return self._found.get(path, ())

    def edited(self, path: str, span: Span, length: int) -> None:
        """The file's `span` has become `length` characters: findings behind it move, those at it go.

        They come again with the next rendering, where they still hold.
        """
        known = self._found.get(path)
        if not known:
            return
        by = length - (span.end - span.start)
        kept = []
        for finding in known:
            spans = [finding.span, *(edit.span for fix in finding.fixes for edit in fix.edits)]
            if max(each.end for each in spans) < span.start:
                kept.append(finding)
            elif min(each.start for each in spans) > span.end:
                kept.append(finding.shifted(by))
        self._found[path] = tuple(kept)

    def rendered(self, snapshot: Snapshot, path: str, made: FileRendering) -> None:
        """The file was rendered, as it was in `snapshot`; its diagnostics follow where they change.

        A file that has been edited since, or one that it includes, keeps what is known of it until it is
        rendered again.
        """
        from promptls.rules.checking.renderings import check_rendering

        current = self._session.snapshot
        if path not in current.open_files or _texts(current, path) != _texts(snapshot, path):
            return
        try:
            found = () if current.kind(path) is Kind.OTHER else check_rendering(current, path, made)
        except Exception:
            log.exception("the findings of the rendering of %s cannot be made", path)
            return
        if found != self._found.get(path, ()):
            self._found[path] = found
            self._session.diagnostics.look_again([path])

    def file_closed(self, path: str) -> None:
        """Forget the file."""
        self._found.pop(path, None)


def _texts(snapshot: Snapshot, path: str) -> dict[str, Template]:
    """The open texts that the file is rendered from: its own, and those of what it includes."""
    return {
        each: snapshot.open_files[each].template
        for each in snapshot.included(path)
        if each in snapshot.open_files
    }
