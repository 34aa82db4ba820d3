"""What the last runs say of rows, shown in the data sets themselves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.run_findings import row_findings
from promptls.protocol.convert import SEVERITIES
from promptls.text.lines import line_end, line_starts, units_from_column

if TYPE_CHECKING:
    from promptls.protocol.session import Session
    from promptls.rules.failing_row import RowFinding
    from promptls.rules.rule import Severity

log = logging.getLogger(__name__)

SOURCE: Final = "promptls"
CODE: Final = "failing-row"
_MOST_ANSWER: Final = 200

Json = dict[str, Any]


class DatasetFindings:
    """The diagnostics of data sets, from the last runs of the prompts that are open.

    They are pushed, to clients that ask for diagnostics too: nobody asks for those of a data set.
    """

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._by_prompt: dict[str, dict[str, list[Json]]] = {}
        self._published: dict[str, list[Json]] = {}

    def look_again(self, path: str) -> None:
        """The runs of the prompt at `path`, or whether they are stale, may have changed."""
        session = self._session
        try:
            found = row_findings(session.snapshot, path, session.runs.newest(path))
            self._take(path, self._diagnostics(found))
        except Exception:
            log.exception("what the runs of %s say of their data sets cannot be shown", path)

    def file_closed(self, path: str) -> None:
        """The prompt is closed: take away what its runs say."""
        self._take(path, {})

    def _take(self, path: str, found: dict[str, list[Json]]) -> None:
        before = self._by_prompt.pop(path, {})
        if found:
            self._by_prompt[path] = found
        for dataset in {**before, **found}:
            self._publish(dataset)

    def _publish(self, dataset: str) -> None:
        shown = [each for found in self._by_prompt.values() for each in found.get(dataset, ())]
        if shown == self._published.get(dataset, []):
            return
        if shown:
            self._published[dataset] = shown
        else:
            del self._published[dataset]
        params = {"uri": self._session.uri_of(dataset), "diagnostics": shown}
        self._session.server.protocol.notify_json(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _diagnostics(self, found: tuple[tuple[RowFinding, Severity], ...]) -> dict[str, list[Json]]:
        made: dict[str, list[Json]] = {}
        texts: dict[str, tuple[str, list[int]]] = {}
        for row, severity in found:
            dataset = str(row.dataset)
            if dataset not in texts:
                text = Path(dataset).read_bytes().decode("utf-8", errors="replace")
                texts[dataset] = (text, line_starts(text))
            made.setdefault(dataset, []).append(
                {
                    "range": self._range(*texts[dataset], row),
                    "severity": SEVERITIES[severity].value,
                    "code": CODE,
                    "source": SOURCE,
                    "message": row.message,
                    **self._related(row),
                }
            )
        return made

    def _related(self, row: RowFinding) -> Json:
        """The way to the result in the table of the run, with what the model answered."""
        if not self._session.flags.related_information:
            return {}
        start = {"line": row.result_line, "character": 0}
        location = {"uri": self._session.uri_of(str(row.results)), "range": {"start": start, "end": start}}
        answer = " ".join(row.response.split())[:_MOST_ANSWER]
        message = f"the result; the answer was: {answer}" if answer else "the result"
        return {"relatedInformation": [{"location": location, "message": message}]}

    def _range(self, text: str, starts: list[int], row: RowFinding) -> Json:
        """The lines of the row: several where a quoted cell has line breaks."""
        last = min(row.end, len(starts)) - 1
        while last > row.line and not text[starts[last] : line_end(text, starts[last])].strip():
            last -= 1
        content = text[starts[last] : line_end(text, starts[last])]
        width = units_from_column(content, len(content), self._session.unit)
        return {
            "start": {"line": min(row.line, last), "character": 0},
            "end": {"line": last, "character": width},
        }
