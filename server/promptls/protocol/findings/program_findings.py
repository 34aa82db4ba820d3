"""What is wrong in programs that load prompts, shown in those programs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol.convert import SEVERITIES, range_json, uri_of
from promptls.rules.page_files import page_file
from promptls.rules.rule import Finding

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

SOURCE: Final = "promptls"
_ENDING: Final = ".py"
_PAUSE_SECONDS: Final = 0.3
"""The pause in the typing of a program after which its calls are looked at."""

Json = dict[str, Any]


class ProgramFindings:
    """The diagnostics of the programs that the client has open, of their calls that load prompts.

    They are pushed, to clients that ask for diagnostics too: nobody asks us for those of a program. A
    program in which nothing is ever found is never spoken of.
    """

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._published: dict[str, list[Json]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def edited(self, path: str) -> None:
        """A document that is no prompt is open, or has another text: look at it after a pause."""
        if path.endswith(_ENDING):
            self.close()
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.look_again)

    def closed(self, path: str) -> None:
        """The client has closed a document: take its diagnostics away."""
        self._publish(path, [])

    def close(self) -> None:
        """Look at nothing any more, until the next edit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look_again(self) -> None:
        """Programs, or the prompts that they load, may be others than they were."""
        try:
            self._session.held.settle(_ENDING)
            snapshot = self._session.snapshot
            found = {path: self._diagnostics(path) for path in snapshot.held if path in snapshot.calls}
            for path in {**self._published, **found}:
                self._publish(path, found.get(path, []))
        except Exception:
            log.exception("what is wrong in programs cannot be shown")

    def _publish(self, path: str, found: list[Json]) -> None:
        if found == self._published.get(path, []):
            return
        if found:
            self._published[path] = found
        else:
            self._published.pop(path, None)
        params = {"uri": self._session.uri_of(path), "diagnostics": found}
        self._session.server.protocol.notify_json(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _diagnostics(self, path: str) -> list[Json]:
        from promptls.features.configurations.file_findings import findings_of_program

        snapshot = self._session.snapshot
        source = snapshot.held[path].template.source
        unit = self._session.unit
        return [
            {
                "range": range_json(source, finding.span, unit),
                "severity": SEVERITIES[finding.severity or "warning"].value,
                "code": finding.rule,
                "source": SOURCE,
                "message": finding.message,
                **self._description(finding),
                **self._related(finding),
            }
            for finding in findings_of_program(snapshot, path, source.text)
        ]

    def _description(self, finding: Finding) -> Json:
        page = page_file(finding.rule) if self._session.flags.code_descriptions else None
        return {} if page is None else {"codeDescription": {"href": uri_of(str(page))}}

    def _related(self, finding: Finding) -> Json:
        """The places in the prompts that read what is wrong."""
        session = self._session
        if not finding.related or not session.flags.related_information:
            return {}
        related = [
            {
                "location": {
                    "uri": session.uri_of(place.path),
                    "range": range_json(other.source, place.span, session.unit),
                },
                "message": place.message,
            }
            for place in finding.related
            if (other := session.snapshot.template(place.path)) is not None
        ]
        return {"relatedInformation": related}
