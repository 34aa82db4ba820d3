"""The verdicts on the rows of a running run, read from the store as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.history import MetricSummary
from promptls.experiments.python.table import python_cells
from promptls.experiments.results_table import plain_cells
from promptls.experiments.row_result import RowResult
from promptls.experiments.row_verdicts import RowVerdict, together, verdict_of
from promptls.experiments.unfinished import RunFollower


class _Run(NamedTuple):
    models: tuple[str, ...]
    metrics: tuple[MetricSummary, ...]


class LiveVerdicts:
    """Follows a run; belongs to one thread at a time."""

    def __init__(self, path: Path, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Prepare to follow the run of this path; `metrics` are those that `Started` names."""
        self._follower = RunFollower(path)
        self._run = _Run((), tuple(map(_without_scores, metrics)))
        self._header: Mapping[str, Any] = {}
        self._known: dict[int, RowVerdict] = {}

    def fresh(self) -> list[RowVerdict]:
        """Return the verdicts that are new or changed since the last call; none if the run is gone.

        Of several results of a row (models, repeats) the worst one so far counts.
        """
        changed: dict[int, RowVerdict] = {}
        header, results = self._follower.new_results()
        if header is not None:
            self._header = header
            self._run = self._run._replace(models=tuple(str(model["name"]) for model in header["models"]))
        for result in results:
            verdict = verdict_of(self._run, result.number, self._cells(result))
            known = self._known.get(result.number)
            changed[result.number] = verdict if known is None else together(known, verdict)
            self._known[result.number] = changed[result.number]
        return list(changed.values())

    def _cells(self, result: RowResult) -> Mapping[str, str]:
        if "written_in" in self._header:
            return python_cells(result, str(self._header.get("experiment")))
        schema = self._header["settings"].get("json_schema")
        names = [metric.name for metric in self._run.metrics]
        return plain_cells(result, str(self._header.get("experiment")), schema, names)


def _without_scores(metric: Mapping[str, Any]) -> MetricSummary:
    return MetricSummary(metric["name"], metric["kind"], None, "", 0, 0, {}, metric["allowed_values"])
