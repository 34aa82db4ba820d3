"""Diagnostics of programs that load prompts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from promptls.server.diagnostics import Publisher, diagnostic_json

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments

log = logging.getLogger(__name__)

_ENDING: Final = ".py"
_PAUSE_SECONDS: Final = 0.3
"""The pause in the typing of a program after which its calls are checked."""

Json = dict[str, Any]


class ProgramFindings:
    """The diagnostics of the calls that load prompts, in the programs that the client has open.

    They are pushed, also to clients that pull: no client requests those of a program from us.
    """

    def __init__(self, context: Context, auxiliary: AuxiliaryDocuments) -> None:
        self._context: Final = context
        self._auxiliary: Final = auxiliary
        self._publisher: Final = Publisher(context)
        self._timer: asyncio.TimerHandle | None = None

    def on_did_change(self, path: str) -> None:
        """Check a document with a new text after a pause."""
        if path.endswith(_ENDING):
            self.close()
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.refresh)

    def on_did_close(self, path: str) -> None:
        """Take the diagnostics of a closed document away."""
        self._publisher.publish(path, [])

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
            found = {path: self._diagnostics(path) for path in snapshot.held if path in snapshot.calls}
            for path in {*self._publisher.paths, *found}:
                self._publisher.publish(path, found.get(path, []))
        except Exception:
            log.exception("the diagnostics of programs cannot be made")

    def _diagnostics(self, path: str) -> list[Json]:
        from promptls.ide.opencompass_python import findings_of_program

        snapshot = self._context.snapshot
        source = snapshot.held[path].template.source
        findings = findings_of_program(snapshot, path, source.text)
        return [diagnostic_json(self._context, source, finding) for finding in findings]
