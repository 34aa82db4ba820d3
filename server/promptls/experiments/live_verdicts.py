"""The verdicts on the rows of a run that goes on, read from its journal as it grows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.growing_file import GrowingFile
from promptls.experiments.history import MetricSummary
from promptls.experiments.journal import is_result
from promptls.experiments.results_table import plain_cells
from promptls.experiments.row_result import RowResult
from promptls.experiments.row_verdicts import RowVerdict, together, verdict_of
from promptls.experiments.written.table import written_cells


class _Run(NamedTuple):
    models: tuple[str, ...]
    metrics: tuple[MetricSummary, ...]


class LiveVerdicts:
    """Reads a journal on from where it was read to; belongs to one thread at a time."""

    def __init__(self, journal: Path, metrics: Sequence[Mapping[str, Any]]) -> None:
        """`metrics` are those that `Started` names. Nothing is read yet."""
        self._journal = GrowingFile(journal)
        self._run = _Run((), tuple(map(_without_scores, metrics)))
        self._header: Mapping[str, Any] = {}
        self._known: dict[int, RowVerdict] = {}

    def fresh(self) -> list[RowVerdict]:
        """The verdicts that are new or others since the last call; none where the journal is gone.

        Of several results of a row (models, repeats) the worst one so far counts.
        """
        changed: dict[int, RowVerdict] = {}
        for result in self._results():
            verdict = verdict_of(self._run, result.number, self._cells(result))
            known = self._known.get(result.number)
            changed[result.number] = verdict if known is None else together(known, verdict)
            self._known[result.number] = changed[result.number]
        return list(changed.values())

    def _results(self) -> Iterator[RowResult]:
        for line in self._journal.new_lines():
            value = json.loads(line)
            if "run" in value:
                self._header = value["run"]
                models = tuple(str(model["name"]) for model in self._header["models"])
                self._run = self._run._replace(models=models)
            elif is_result(line):
                yield RowResult.from_json(value)

    def _cells(self, result: RowResult) -> Mapping[str, str]:
        if "written_in" in self._header:
            return written_cells(result, str(self._header.get("experiment")))
        schema = self._header["settings"].get("json_schema")
        names = [metric.name for metric in self._run.metrics]
        return plain_cells(result, str(self._header.get("experiment")), schema, names)


def _without_scores(metric: Mapping[str, Any]) -> MetricSummary:
    return MetricSummary(metric["name"], metric["kind"], None, "", 0, 0, {}, metric["allowed_values"])
