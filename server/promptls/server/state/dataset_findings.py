"""Diagnostics of datasets: what the last runs say about their rows."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from promptls.security.files import read_bytes
from promptls.server.diagnostics import SOURCE, Publisher
from promptls.server.to_proto import SEVERITIES
from promptls.text.positions import line_end, line_starts, units_from_column

if TYPE_CHECKING:
    from promptls.lint.rule import Severity
    from promptls.lint.rules.experiments.failing_row import RowFinding
    from promptls.server.context import Context
    from promptls.server.state.runs import Runs

log = logging.getLogger(__name__)

CODE: Final = "failing-row"
_MAX_ANSWER: Final = 200

Json = dict[str, Any]


class DatasetFindings:
    """The diagnostics of datasets, from the last runs of the open prompts.

    They are pushed, also to clients that pull: no client requests those of a dataset.
    """

    def __init__(self, context: Context, runs: Runs) -> None:
        self._context: Final = context
        self._runs: Final = runs
        self._publisher: Final = Publisher(context)
        self._by_prompt: dict[str, dict[str, list[Json]]] = {}

    def refresh(self, paths: list[str]) -> None:
        """Read the last runs of the prompts at `paths` again."""
        for path in paths:
            self._refresh(path)

    def _refresh(self, path: str) -> None:
        from promptls.ide.experiments import row_findings

        try:
            found = row_findings(self._context.snapshot, path, self._runs.latest(path))
            self._take(path, self._diagnostics(found))
        except Exception:
            log.exception("what the runs of %s say about their datasets cannot be shown", path)

    def on_did_close(self, path: str) -> None:
        """Take away what the runs of a closed prompt say."""
        self._take(path, {})

    def _take(self, path: str, found: dict[str, list[Json]]) -> None:
        before = self._by_prompt.pop(path, {})
        if found:
            self._by_prompt[path] = found
        for dataset in {**before, **found}:
            self._publish(dataset)

    def _publish(self, dataset: str) -> None:
        shown = [each for found in self._by_prompt.values() for each in found.get(dataset, ())]
        self._publisher.publish(dataset, shown)

    def _diagnostics(self, found: tuple[tuple[RowFinding, Severity], ...]) -> dict[str, list[Json]]:
        made: dict[str, list[Json]] = {}
        texts: dict[str, tuple[str, list[int]]] = {}
        for row, severity in found:
            dataset = str(row.dataset)
            if dataset not in texts:
                text = read_bytes(dataset).decode("utf-8", errors="replace")
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
        """Return a link to the result in the table of the run, with the answer of the model."""
        if not self._context.capabilities.related_information:
            return {}
        start = {"line": row.result_line, "character": 0}
        location = {"uri": self._context.uri_of(str(row.results)), "range": {"start": start, "end": start}}
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
