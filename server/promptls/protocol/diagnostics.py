"""Diagnostics for the client: pushed to one that does not ask, answered to one that does.

Whatever waits to be read is read before anything is pushed, so that many changes at once
give one list, of the last text. A list that equals the one sent before is not sent again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.run_findings import run_findings
from promptls.meaning.kind import Kind
from promptls.protocol.convert import SEVERITIES, range_json, uri_of
from promptls.protocol.settling import touch
from promptls.rules.page_files import page_file
from promptls.rules.rule import Finding
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

SOURCE: Final = "promptls"
_MOST_DELAYS: Final = 200
_RELATED_SECONDS: Final = 0.003
"""How long an answer may wait for diagnostics of other files."""

Json = dict[str, Any]


class Diagnostics:
    """The newest diagnostics of each open file, and when they are sent."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._waiting: dict[str, None] = {}
        self._published: dict[str, list[Json]] = {}
        self._answered: dict[str, tuple[int, list[Json]]] = {}
        self._made: dict[str, dict[int, tuple[Finding, Json]]] = {}
        """What was made last for each file; a finding that is the same object stands where it stood."""
        self._next_result = 1
        self._delays = 0
        self._is_scheduled = False

    # -- what has happened ------------------------------------------------------------

    def file_changed(self, path: str) -> None:
        """The file at `path` has another text."""
        if not self._session.flags.pulls_diagnostics:
            self._schedule(path)

    def look_again(self, paths: list[str]) -> None:
        """The diagnostics of the files at `paths` may be others than they were."""
        if not self._session.flags.pulls_diagnostics:
            for path in paths:
                self._schedule(path)
        elif self._session.flags.refreshes_diagnostics and any(map(self._differs, paths)):
            self._session.server.workspace_diagnostic_refresh(None)

    def file_closed(self, path: str) -> None:
        """The client has closed the file: take its diagnostics away."""
        self._waiting.pop(path, None)
        self._answered.pop(path, None)
        self._made.pop(path, None)
        if self._published.pop(path, None):
            self._send(path, [], None)

    # -- pull ---------------------------------------------------------------------------

    def report(self, path: str, previous: str | None) -> Json:
        """The answer to a question for the file's diagnostics: all of them, or that they are as before."""
        found = self.now(path)
        known = self._answered.get(path)
        if known is None or known[1] != found:
            known = self._answered[path] = (self._next_result, found)
            self._next_result += 1
        result = str(known[0])
        if result == previous:
            return {"kind": "unchanged", "resultId": result}
        return {"kind": "full", "resultId": result, "items": found}

    def related(self, path: str) -> dict[str, Json]:
        """Reports of open files around the one at `path` whose diagnostics are others than were answered.

        As many as can be made at once; the others follow when the typing pauses.
        """
        snapshot = self._session.snapshot
        begun = time.perf_counter()
        found: dict[str, Json] = {}
        for other in snapshot.open_files:
            if time.perf_counter() - begun > _RELATED_SECONDS:
                break
            if other != path and touch(snapshot, path, other) and self._differs(other):
                found[self._session.uri_of(other)] = self.report(other, None)
        return found

    # -- push ---------------------------------------------------------------------------

    def _schedule(self, path: str) -> None:
        self._waiting[path] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            self._delays = 0
            asyncio.get_running_loop().call_soon(self._publish)

    def _publish(self) -> None:
        """Publish for every waiting file, as soon as nothing waits to be read."""
        source = self._session.server.input
        if source is not None and self._delays < _MOST_DELAYS and source.has_more():
            self._delays += 1
            asyncio.get_running_loop().call_soon(self._publish)
            return
        self._is_scheduled = False
        waiting, self._waiting = self._waiting, {}
        for path in waiting:
            opened = self._session.snapshot.open_files.get(path)
            if opened is None:
                continue
            found = self.now(path)
            if self._published.get(path, []) != found:
                self._published[path] = found
                self._send(path, found, opened.version)

    def _send(self, path: str, found: list[Json], version: int | None) -> None:
        params: Json = {"uri": self._session.uri_of(path), "diagnostics": found}
        if version is not None:
            params["version"] = version
        self._session.server.protocol.notify_json(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _differs(self, path: str) -> bool:
        """Whether the client has other diagnostics of the file than are right."""
        known = self._answered.get(path)
        return known is not None and known[1] != self.now(path)

    # -- making ---------------------------------------------------------------------------

    def findings(self, path: str, rendered: Iterable[Finding] | None = None) -> tuple[Finding, ...]:
        """What is found in the file as it is now; nothing in files that are no prompts.

        What its rendering shows is what is known of it, or is given.
        """
        if self._session.kind(path) is Kind.OTHER:
            return ()
        from promptls.rules.checking.check import check

        snapshot = self._session.snapshot
        return (
            *check(snapshot, path),
            *(self._session.rendered_findings.newest(path) if rendered is None else rendered),
            *run_findings(snapshot, path, self._session.runs.newest(path)),
        )

    def now(self, path: str, rendered: Iterable[Finding] | None = None) -> list[Json]:
        """The file's diagnostics, as `findings`; none where looking for them fails, which is logged."""
        try:
            snapshot = self._session.snapshot
            before = self._made.get(path, {})
            made = self._made[path] = {}
            for finding in self.findings(path, rendered):
                known = before.get(id(finding))
                if known is None or known[0] is not finding:
                    known = (finding, self._json(snapshot, path, finding))
                made[id(finding)] = known
            return [json for _, json in made.values()]
        except Exception:
            log.exception("the diagnostics of %s cannot be made", path)
            return []

    def _json(self, snapshot: Snapshot, path: str, finding: Finding) -> Json:
        session = self._session
        template = snapshot.template(path)
        assert template is not None
        made: Json = {
            "range": range_json(template.source, finding.span, session.unit),
            "severity": SEVERITIES[finding.severity or "warning"].value,
            "code": finding.rule,
            "source": SOURCE,
            "message": finding.message,
        }
        if session.flags.code_descriptions and (page := page_file(finding.rule)) is not None:
            made["codeDescription"] = {"href": uri_of(str(page))}
        if finding.fixes and session.flags.diagnostic_data:
            made["data"] = {"fixes": [fix.title for fix in finding.fixes]}
        if finding.unnecessary and session.flags.diagnostic_tags:
            made["tags"] = [types.DiagnosticTag.Unnecessary.value]
        if finding.related and session.flags.related_information:
            made["relatedInformation"] = [
                {
                    "location": {
                        "uri": session.uri_of(place.path),
                        "range": range_json(other.source, place.span, session.unit),
                    },
                    "message": place.message,
                }
                for place in finding.related
                if (other := snapshot.template(place.path)) is not None
            ]
        return made
