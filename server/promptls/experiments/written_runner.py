"""Running a written experiment on a prompt: the same events, table and manifest as other runs have."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sized
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Final

import promptls
from promptls.datasets.backends.cells import flat_row, is_score
from promptls.datasets.backends.local_csv import LocalCsv
from promptls.experiments.definition import prompt_stem, results_folder
from promptls.experiments.events import Event, Finished, RowFinished, Started, Stopped
from promptls.experiments.find_run import find_run
from promptls.experiments.git_state import git_state
from promptls.experiments.history import RunSummary, row_results
from promptls.experiments.manifest import FORMAT, ended_manifest, hash_of_text, relative, write_manifest
from promptls.experiments.request import RunRequest
from promptls.experiments.row_function import RowFunction, RowOutcome
from promptls.experiments.row_result import RowResult, Score
from promptls.experiments.tally import Totals
from promptls.experiments.written import DEFAULT_CONCURRENCY
from promptls.experiments.written_plan import WrittenPlan, WrittenRequest, written_plan
from promptls.experiments.written_results import free_name
from promptls.experiments.written_run import WrittenRun
from promptls.metrics.metric import Metric
from promptls.text.failure import Failure, FilePlace, WrongUse

_OWN_COLUMNS: Final = frozenset({"error", "model", "repeat", "row_number"})


async def run_written(written: WrittenRequest, on_event: Callable[[Event], None]) -> Finished:
    """Call the function with each row, and write table and manifest beside those of the prompt's other runs.

    The process works in the folder of the experiment's file, as when the file itself is run. A cancelled
    run tells `Stopped` and keeps its finished rows in a journal. Raises Failure as `written_plan` does.
    """
    request, experiment = written
    kept = {} if request.retry_errors is None else good_rows(find_run(request.retry_errors))
    os.chdir(Path(experiment.file).parent)
    plan = written_plan(experiment, request)
    return await _Run(plan, request, kept, on_event).run()


class _Run:
    def __init__(
        self,
        plan: WrittenPlan,
        request: RunRequest,
        kept: Mapping[int, RowOutcome],
        on_event: Callable[[Event], None],
    ) -> None:
        self._plan = plan
        self._request = request
        self._kept = kept
        """What came of rows in the run before, by their index; they are not asked again."""
        self._asked: list[int] = []
        self._on_event = on_event
        self._started = datetime.now(timezone.utc).astimezone()
        self._folder = results_folder(plan.prompt)
        backend = LocalCsv(self._folder.parent)
        stem = f"{self._started:%Y%m%d-%H%M%S}-{prompt_stem(plan.prompt)}"
        try:
            self._name = free_name(backend, stem)
        except OSError as error:
            raise _unwritten(error, self._folder) from error
        self._backend = backend
        self._table = backend.path_of(self._name, "experiments")
        self._journal = self._table.with_name(f"{self._name}.unfinished.jsonl")

    async def run(self) -> Finished:
        """The end of the run."""
        plan, rows = self._plan, self._due(_chosen(self._plan.rows, self._request.rows))
        total = len(rows) if isinstance(rows, Sized) else 0
        self._on_event(Started(self._name, total, 0, 0, str(self._journal)))
        function = RowFunction(plan.function, (), plan.arguments, plan.model, self._request.timeout)
        at_once = self._request.concurrency or (DEFAULT_CONCURRENCY if plan.is_asynchronous else 1)
        run = WrittenRun(function, at_once, self._journal, on_row=lambda *row: self._tell(total, *row))
        try:
            await run.work(rows)
            finished = self._written(self._all(run.outcomes))
        except asyncio.CancelledError:
            self._table.unlink(missing_ok=True)
            self._on_event(Stopped(len(run.outcomes), total, str(self._journal)))
            raise
        except Failure:
            self._table.unlink(missing_ok=True)
            raise
        except OSError as error:
            raise _unwritten(error, self._journal) from error
        self._journal.unlink(missing_ok=True)
        self._on_event(finished)
        return finished

    def _due(self, rows: Iterable[Any]) -> Iterable[Any]:
        """The rows that are to be asked."""
        if not self._kept:
            return rows
        due = [(index, row) for index, row in enumerate(rows) if index not in self._kept]
        self._asked = [index for index, _ in due]
        return [row for _, row in due]

    def _all(self, outcomes: list[RowOutcome]) -> list[RowOutcome]:
        """What came of every row, in the order of the data set."""
        if not self._kept:
            return outcomes
        found = {**self._kept, **dict(zip(self._asked, outcomes, strict=True))}
        return [found[index] for index in sorted(found)]

    def _tell(self, total: int, done: int, index: int, outcome: RowOutcome, seconds: float) -> None:
        result = self._result(index, outcome)
        left = seconds / done * max(total - done, 0)
        scores = {name: score.value for name, score in result.scores.items()}
        self._on_event(
            RowFinished(
                result.id,
                result.model,
                result.error,
                scores,
                done,
                max(total, done),
                seconds,
                left,
                done / max(seconds, 1e-9),
            )
        )

    def _result(self, index: int, outcome: RowOutcome) -> RowResult:
        values = _values(outcome)
        scores = {
            name: Score(value.value, value.reason) if is_score(value) else Score(value)
            for name, value in values.items()
            if name in self._plan.metrics or is_score(value)
        }
        identity = values.get("id")
        number = str(identity) if identity is not None and identity != "" else str(index + 1)
        return RowResult(
            number, index + 1, index, self._plan.asked_model, 1, values, scores=scores, error=outcome.error
        )

    def _written(self, outcomes: list[RowOutcome]) -> Finished:
        plan = self._plan
        results = [self._result(index, outcome) for index, outcome in enumerate(outcomes)]
        totals = Totals(_metrics(plan, outcomes), [plan.asked_model])
        for result in results:
            totals.add(result)
        rows = [
            {
                **flat_row(_values(outcome)),
                "error": outcome.error,
                "model": plan.asked_model,
                "repeat": 1,
                "row_number": result.number,
                "experiment_name": _values(outcome).get("experiment_name") or plan.experiment.name,
            }
            for outcome, result in zip(outcomes, results, strict=True)
        ]
        self._backend.write(self._table, rows)
        manifest = ended_manifest(self._manifest(len(rows)), totals.summary())
        write_manifest(self._table.with_suffix(".json"), manifest)
        return Finished(str(self._table), str(self._table.with_suffix(".json")), manifest)

    def _manifest(self, rows: int) -> dict[str, Any]:
        plan = self._plan
        files = (plan.prompt, Path(plan.experiment.file))
        texts = {file: file.read_bytes().decode("utf-8", "surrogateescape") for file in files}
        return {
            "format": FORMAT,
            "run": self._name,
            "experiment": plan.experiment.name,
            "written_in": relative(Path(plan.experiment.file), self._folder),
            "prompt": relative(plan.prompt, self._folder),
            "files": {relative(file, self._folder): hash_of_text(text) for file, text in texts.items()},
            "prompt_hash": hash_of_text(texts[plan.prompt]),
            "rendered": {"rows": rows, "failing": 0, "over_limit": 0, "tokens": 0},
            "models": [{"name": plan.asked_model}],
            "settings": {"metrics": list(plan.metrics), "concurrency": self._request.concurrency},
            "git": git_state(plan.prompt.parent),
            "versions": {"promptls": promptls.__version__, "python": platform.python_version()},
            "started": self._started.isoformat(timespec="seconds"),
            "continues": None,
        }


def good_rows(run: RunSummary) -> dict[int, RowOutcome]:
    """What came of the rows of a run that did not fail, by their index from 0; every value is text."""
    found = {}
    for line in row_results(run):
        if not line["error"]:
            values = {name: value for name, value in line.items() if name not in _OWN_COLUMNS}
            found[int(line["row_number"]) - 1] = RowOutcome(values, None)
    return found


def _values(outcome: RowOutcome) -> dict[str, Any]:
    result = outcome.result
    return result if isinstance(result, dict) else dict(result.model_dump())


def _metrics(plan: WrittenPlan, outcomes: list[RowOutcome]) -> list[Metric]:
    """The metrics of the columns, and for results of others what their values tell."""
    metrics = dict(plan.metrics)
    for outcome in outcomes:
        for name, value in _values(outcome).items():
            if name not in metrics and is_score(value) and value.value is not None:
                numeric = isinstance(value.value, int | float)
                kind = "numeric" if numeric else "ranking" if isinstance(value.value, list) else "discrete"
                metrics[name] = Metric(name, kind, None, str)  # type: ignore[arg-type]  # one of the three
    return list(metrics.values())


def _chosen(rows: Iterable[Any], choice: int | str | None) -> Iterable[Any]:
    if choice is None:
        return rows
    if str(choice).isdigit():
        return list(islice(rows, int(choice)))
    raise WrongUse(
        f"of an experiment in Python, `{choice}` chooses no rows",
        remedy="name how many of the first: `--rows 20`",
    )


def _unwritten(error: OSError, path: Path) -> Failure:
    return Failure(
        f"the results cannot be written: {(error.strerror or str(error)).lower()}",
        FilePlace(error.filename or path),
        "free some space and run again",
    )
