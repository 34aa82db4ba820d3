"""Experiments defined by a Python function: the decorator, calling the function, and the results.

Functions are only executed in the process of a run, never in the language server.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple, TextIO, cast, overload

from pydantic import BaseModel

from promptls.datasets.backends import Backend, InMemory, LocalBackend, resolved_backend
from promptls.datasets.cells import flat_row, json_line
from promptls.datasets.csv_file import write_rows
from promptls.datasets.dataset import DataTable
from promptls.experiments.pipeline import Outcome, Task, work_through
from promptls.metrics.metric import in_thread
from promptls.metrics.metric_loading import loaded_module
from promptls.models.masking import key_mask
from promptls.security.written_files import open_private
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.filenames import as_file_name
from promptls.text.format import plural


def experiment_module(path: Path) -> ModuleType:
    """Import the experiment's file as a module, once; raises UserError if that fails."""
    if not path.is_file():
        raise UsageError(
            "the Python file of the experiment does not exist", FilePlace(path), "check the path"
        )
    return loaded_module(path, "the Python file of the experiment", before_others=True)


def value_of(module: ModuleType, name: str, path: Path) -> Any:
    """Return the module's attribute `name`; raises UsageError if it does not exist."""
    if not hasattr(module, name):
        raise UsageError(f"the file has no `{name}`", FilePlace(path), "save it, and run again")
    return getattr(module, name)


class FunctionOutcome(NamedTuple):
    """The outcome of a row: a mapping, or an instance of the experiment's model; on an error, the row."""

    result: Any
    error: str | None


@dataclass(frozen=True, slots=True)
class RowFunction:
    """The function, with everything that does not depend on the row."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    model: type[BaseModel] | None
    timeout: float | None
    """Timeout of a call in seconds; None for no limit."""

    async def call(self, row: Any) -> FunctionOutcome:
        """Call the function; exceptions become errors, while cancellation is propagated."""
        argument = dict(row) if isinstance(row, Mapping) else row
        try:
            value = await asyncio.wait_for(self._value(argument), self.timeout)
            return FunctionOutcome(self._check(value), None)
        except asyncio.TimeoutError as error:
            if str(error) or self.timeout is None:
                return failed_row(row, key_mask().mask(f"TimeoutError: {error}"))
            return failed_row(row, f"it took longer than {plural(self.timeout, 'second')}")
        except Exception as error:  # noqa: BLE001 - a failed row must not end the run
            remedy = f": {error.remedy}" if isinstance(error, UserError) and error.remedy else ""
            return failed_row(row, key_mask().mask(f"{type(error).__name__}: {error}{remedy}"))

    async def _value(self, row: Any) -> Any:
        if inspect.iscoroutinefunction(self.function):
            return await self.function(row, *self.arguments, **self.named)
        value = await in_thread(lambda: self.function(row, *self.arguments, **self.named), {})
        return await value if inspect.isawaitable(value) else value

    def _check(self, value: Any) -> Any:
        """Validate the value as a row of the results; raises TypeError, or the model's errors."""
        if isinstance(value, BaseModel) and (self.model is None or isinstance(value, self.model)):
            return value if self.model is not None else value.model_dump()
        if not isinstance(value, Mapping):
            raise TypeError(
                f"the function returned a {type(value).__name__}, not a mapping of columns to values"
            )
        return dict(value) if self.model is None else self.model(**value)


def failed_row(row: Any, message: str) -> FunctionOutcome:
    """Return the outcome of a failed row: the row with the error in the column `error`."""
    values = row.model_dump() if isinstance(row, BaseModel) else dict(row)
    column = "error" if "error" not in values else "experiment_error"
    return FunctionOutcome({**values, column: message}, message)


_EVERY: float = 0.1
"""Interval of progress updates in seconds."""


@dataclass(frozen=True, slots=True)
class _IndexedOutcome(Outcome):
    index: int
    outcome: FunctionOutcome


class FunctionRun:
    """A run of a function over a dataset."""

    def __init__(
        self,
        function: RowFunction,
        concurrency: int,
        journal: Path | None = None,
        progress: TextIO | None = None,
    ) -> None:
        """Finished rows are written to `journal` immediately; a progress line is written to `progress`."""
        self._function = function
        self._concurrency = concurrency
        self._journal = journal
        self._progress = progress
        self._outcomes: dict[int, FunctionOutcome] = {}
        self._began = self._reported = time.perf_counter()
        self.is_complete = False

    @property
    def outcomes(self) -> list[FunctionOutcome]:
        """The finished outcomes, in dataset order."""
        return [self._outcomes[index] for index in sorted(self._outcomes)]

    async def work(self, dataset: Iterable[Any]) -> None:
        """Process all rows; raises the errors of the dataset, and OSError of the journal."""
        total = len(dataset) if isinstance(dataset, Sized) else None
        at_once = self._concurrency if total is None else min(self._concurrency, total)
        tasks = (Task(partial(self._call, index, row)) for index, row in enumerate(dataset))
        with self._opened_journal() as journal:
            try:
                await work_through(tasks, at_once, partial(self._keep, journal, total))
            finally:
                if self._progress is not None:
                    self._progress.write("\n")
        self.is_complete = True

    async def _call(self, index: int, row: Any) -> _IndexedOutcome:
        return _IndexedOutcome(index, await self._function.call(row))

    def _keep(self, journal: TextIO | None, total: int | None, found: _IndexedOutcome) -> None:
        outcome = self._outcomes[found.index] = found.outcome
        if journal is not None:
            values = outcome.result if isinstance(outcome.result, dict) else outcome.result.model_dump()
            journal.write(f"{json_line(flat_row(values))}\n")
            journal.flush()
        self._report(total)

    @contextlib.contextmanager
    def _opened_journal(self) -> Iterator[TextIO | None]:
        if self._journal is None:
            yield None
            return
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        with open_private(self._journal, "w", encoding="utf-8") as stream:
            yield cast("TextIO", stream)

    def _report(self, total: int | None) -> None:
        now, done = time.perf_counter(), len(self._outcomes)
        if self._progress is None or (now - self._reported < _EVERY and done != total):
            return
        self._reported = now
        rate = done / max(now - self._began, 1e-9)
        failed = sum(outcome.error is not None for outcome in self._outcomes.values())
        share = "" if total is None else f"{done / max(total, 1):>4.0%} "
        of = "" if total is None else f"/{total}"
        left = "" if total is None else f", {(total - done) / max(rate, 1e-9):.0f} s left"
        reported = f"Running experiment: {share}{done}{of} [{rate:.2f} rows/s{left}]"
        self._progress.write(f"\r{reported}{f', {failed} failed' if failed else ''}   ")
        self._progress.flush()


def progress_stream() -> TextIO | None:
    """Return standard error if it is a terminal."""
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None


_STAMPED: Final = re.compile(r"\d{8}-\d{6}-")


class ExperimentResults(DataTable):
    """The results: one row for each row of the dataset, in order."""

    _has_results: ClassVar[bool] = True

    def __init__(self, name: str, backend: str | Backend = "inmemory", *more: Any, **options: Any) -> None:
        """Create an empty table."""
        super().__init__(name, backend, *more, **options)
        self.errors: tuple[tuple[int, str], ...] = ()
        """The index, from 0, and the error of each failed row."""

    def take(self, outcomes: Sequence[FunctionOutcome]) -> None:
        """Replace all rows by these outcomes."""
        self._rows = [outcome.result for outcome in outcomes]
        self.errors = tuple(
            (index, outcome.error) for index, outcome in enumerate(outcomes) if outcome.error is not None
        )

    def save_as(self, name: str) -> None:
        """Store the results under `name`, with a number appended if the name is taken."""
        self.name = free_name(self.backend, name)
        self.save()


def free_name(backend: Backend, name: str) -> str:
    """Return the name, with a suffix `-2`, `-3` … if results with that name exist."""
    number, candidate = 1, name
    while not _claim(backend, candidate):
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _claim(backend: Backend, name: str) -> bool:
    """Claim the name; return whether it was free.

    For files, this is atomic: concurrent processes cannot claim the same name.
    """
    if not isinstance(backend, LocalBackend):
        return name not in backend.list_experiments()
    path = backend.path_of(name, "experiments")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.open("x").close()
    except FileExistsError:
        return False
    return True


def results_name(
    requested: str | None, rows: Iterable[Any], function: str, prefix: str, now: datetime
) -> str:
    """Return the name of the results: the passed one, the rows' common `experiment_name`, or the function's.

    The time of the run is prepended, unless the name already begins with a time.
    """
    name = requested or _common_name(rows) or function
    name = as_file_name(f"{prefix}-{name}" if prefix else name)
    return name if _STAMPED.match(name) else f"{now:%Y%m%d-%H%M%S}-{name}"


def _common_name(rows: Iterable[Any]) -> str | None:
    values = [row if isinstance(row, dict) else vars(row) for row in rows]
    names = {row["experiment_name"] for row in values if isinstance(row.get("experiment_name"), str)}
    return names.pop() or None if len(names) == 1 else None


DEFAULT_CONCURRENCY: Final = 16
"""Number of rows that are processed concurrently by an asynchronous function."""
_OPTIONS: Final = ("concurrency", "timeout", "progress")


class ExperimentFunction:
    """A function decorated with `@experiment()`. It can still be called with a single row and awaited."""

    __name__: str

    def __init__(
        self,
        function: Callable[..., Any],
        experiment_model: type[BaseModel] | None = None,
        backend: Backend | None = None,
        name_prefix: str = "",
    ) -> None:
        """Create the experiment that calls `function`."""
        self.func = function
        self.experiment_model = experiment_model
        self.backend = backend
        self.name_prefix = name_prefix
        functools.update_wrapper(self, function)

    async def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function and return its awaited result."""
        value = self.func(*arguments, **named)
        return await value if inspect.isawaitable(value) else value

    async def arun(
        self,
        dataset: Iterable[Any],
        name: str | None = None,
        backend: str | Backend | None = None,
        *arguments: Any,
        **named: Any,
    ) -> ExperimentResults:
        """Call the function with each row of the dataset, and store the results.

        All further arguments are passed to each call. `concurrency` is the number of concurrent calls (16
        for an asynchronous function, 1 for a synchronous one, which runs in a thread), `timeout` limits
        a call in seconds, and `progress=False` disables progress output; a function that has
        parameters with these names receives them instead.

        The results are saved in `backend`, else in the experiment's backend, else in that of
        the dataset, under `YYYYMMDD-HHMMSS-<name>`; a name that begins with such a time is used
        unchanged. The name defaults to the rows' common `experiment_name`, or the function's name. A manifest
        is written next to CSV tables, so that `promptls compare` and others know their metrics.

        There is one result per row of the dataset, in the same order. If the function raises,
        times out or does not return a mapping, the result is the row itself with the reason in `error`.
        If the run is cancelled or the program is interrupted, finished rows are saved;
        local backends also store them during the run, in `<name>.unfinished.jsonl`.
        Raises UsageError if the arguments do not fit the function, and UserError if the results cannot be
        saved.
        """
        now = datetime.now(timezone.utc).astimezone()
        options = self._own_options(named)
        concurrency = options.get("concurrency")
        if concurrency is None:
            concurrency = DEFAULT_CONCURRENCY if inspect.iscoroutinefunction(self.func) else 1
        if not isinstance(concurrency, int) or concurrency < 1:
            raise UsageError(f"`concurrency` is {concurrency!r}", remedy="set `concurrency` to 1 or more")
        self._check_arguments(arguments, named)
        results = ExperimentResults(name or self.__name__, self._place(dataset, backend))
        journal = _journal(results.backend, results_name(name, (), self.__name__, self.name_prefix, now))
        function = RowFunction(self.func, arguments, named, self.experiment_model, options.get("timeout"))
        progress = progress_stream() if options.get("progress", True) else None
        run = FunctionRun(function, concurrency, journal, progress)
        try:
            await run.work(dataset)
        except UserError:
            raise  # a missing dataset raises an OSError too
        except OSError as error:
            raise _unwritten(error, journal) from error
        finally:
            if run.is_complete or run.outcomes:
                results.take(run.outcomes)
                results.save_as(results_name(name, results, self.__name__, self.name_prefix, now))
                _write_manifest(results, function, dataset, run, now)
            if journal is not None:
                journal.unlink(missing_ok=True)
        return results

    def run(self, dataset: Iterable[Any], *arguments: Any, **named: Any) -> ExperimentResults:
        """Run `arun` synchronously."""
        return asyncio.run(self.arun(dataset, *arguments, **named))

    def _own_options(self, named: dict[str, Any]) -> dict[str, Any]:
        """Remove the run's options from the keyword arguments for the function, and return them."""
        parameters = inspect.signature(self.func).parameters
        return {key: named.pop(key) for key in _OPTIONS if key in named and key not in parameters}

    def _check_arguments(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Raise UsageError if every call would fail because an argument is missing or unknown."""
        try:
            inspect.signature(self.func).bind(None, *arguments, **named)
        except TypeError as error:
            raise UsageError(
                f"`{self.__name__}` cannot be called with these arguments: {error}",
                remedy="pass its parameters by name, as in `arun(dataset, model=…)`: the second argument is "
                "the name of the results",
            ) from None

    def _place(self, dataset: Any, backend: str | Backend | None) -> Backend:
        its_own: Any = getattr(dataset, "backend", None)
        if backend is not None:
            is_local = isinstance(backend, str) and backend.startswith("local/")
            root = getattr(its_own, "root_dir", Path())
            return resolved_backend(backend, {"root_dir": root} if is_local else {})
        return self.backend or its_own or InMemory()


@overload
def experiment(experiment_model: Callable[..., Any]) -> ExperimentFunction: ...
@overload
def experiment(
    experiment_model: type[BaseModel] | None = None,
    backend: str | Backend | None = None,
    name_prefix: str = "",
    **options: Any,
) -> Callable[[Callable[..., Any]], ExperimentFunction]: ...
def experiment(
    experiment_model: Any = None,
    backend: str | Backend | None = None,
    name_prefix: str = "",
    **options: Any,
) -> ExperimentFunction | Callable[[Callable[..., Any]], ExperimentFunction]:
    """Return a decorator that turns functions of a row into experiments.

    See `ExperimentFunction.arun`.

    `experiment_model` is the pydantic model of the results, and `backend` is where they are stored, with its
    `options`, such as `root_dir`. `name_prefix` is prepended to the names of results. Without arguments,
    the parentheses can be omitted.
    """
    if inspect.isroutine(experiment_model):
        return ExperimentFunction(experiment_model)
    place = None if backend is None else resolved_backend(backend, options)

    def decorate(function: Callable[..., Any]) -> ExperimentFunction:
        return ExperimentFunction(function, experiment_model, place, name_prefix)

    return decorate


def _write_manifest(
    results: ExperimentResults, function: RowFunction, dataset: Any, run: FunctionRun, started: datetime
) -> None:
    """Write the manifest next to the table of a complete run; raises UserError.

    Other formats than CSV get a table in CSV as well, which comparisons, reports and the results page read.
    """
    # The manifest of a table in JSON would have its name.
    if run.is_complete and isinstance(results.backend, LocalBackend) and results.backend.format != "json":
        from promptls.experiments.python.program_manifest import Called, write_program_manifest

        stored = results.backend.path_of(results.name, "experiments").absolute()
        table = stored.with_suffix(".csv")
        if table != stored:
            rows = [row if isinstance(row, dict) else dict(row) for row in results]
            try:
                write_rows(table, rows)
            except OSError as error:
                raise _unwritten(error, table) from error
        called = Called(function.function, function.arguments, function.named)
        try:
            write_program_manifest(table, called, dataset, run.outcomes, started)
        except OSError as error:
            raise _unwritten(error, table) from error


def _journal(backend: Backend, name: str) -> Path | None:
    """Return the file for finished rows during the run; None for backends without a folder."""
    if not isinstance(backend, LocalBackend):
        return None
    path = backend.path_of(name, "experiments")
    number, journal = 1, path.with_name(f"{name}.unfinished.jsonl")
    while journal.exists():
        number += 1
        journal = path.with_name(f"{name}-{number}.unfinished.jsonl")
    return journal


def _unwritten(error: OSError, path: Path | None) -> UserError:
    return UserError(
        f"the rows cannot be written: {(error.strerror or str(error)).lower()}",
        FilePlace(error.filename or path or "."),
        "free some space and run again",
    )
