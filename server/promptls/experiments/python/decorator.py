"""The decorator that makes an experiment of a Python function."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, overload

from pydantic import BaseModel

from promptls.datasets.backends import Backend, InMemory, LocalBackend, resolved_backend
from promptls.experiments.python.results import ExperimentResults, results_name
from promptls.experiments.python.row_function import RowFunction
from promptls.experiments.python.run import FunctionRun, progress_stream
from promptls.text.errors import FilePlace, UsageError, UserError

DEFAULT_CONCURRENCY: Final = 16
"""Rows of an asynchronous function that are worked on at once."""
_OPTIONS: Final = ("concurrency", "timeout", "progress")


class ExperimentFunction:
    """A function under `@experiment()`. It can still be awaited with one row."""

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
        """Return what the function gives, awaited."""
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
        """Call the function with each row of the dataset, and keep what it gives.

        All further arguments go to each call. `concurrency` is how many rows are worked on at once (16
        for an asynchronous function, 1 for another, which runs in a thread), `timeout` how many seconds
        one may take, and `progress=False` silences the line on the error stream; a function that has
        parameters of these names gets them instead.

        The results are saved in the back end `backend`, else in the experiment's own, else in that of
        the dataset, under `YYYYMMDD-HHMMSS-<name>`, where a name that begins with such a time stays as
        it is. Without a name it is the `experiment_name` that all rows have, or the function's.

        Each row of the dataset is one of the results, at the same place. Where the function raises,
        takes too long or gives no mapping, the result is the row itself with the reason under `error`.
        When the run is cancelled or the program is interrupted, the rows that are finished are saved;
        files of a local back end also hold them while the run goes on, in `<name>.unfinished.jsonl`.
        Raises UserError where the results cannot be saved.
        """
        now = datetime.now(timezone.utc).astimezone()
        options = self._own_options(named)
        concurrency = options.get("concurrency")
        if concurrency is None:
            concurrency = DEFAULT_CONCURRENCY if inspect.iscoroutinefunction(self.func) else 1
        if not isinstance(concurrency, int) or concurrency < 1:
            raise UsageError(
                f"{concurrency!r} rows at once make no run", remedy="set `concurrency` to 1 or more"
            )
        results = ExperimentResults(name or self.__name__, self._place(dataset, backend))
        journal = _journal(results.backend, results_name(name, (), self.__name__, self.name_prefix, now))
        function = RowFunction(self.func, arguments, named, self.experiment_model, options.get("timeout"))
        progress = progress_stream() if options.get("progress", True) else None
        run = FunctionRun(function, concurrency, journal, progress)
        try:
            await run.work(dataset)
        except UserError:
            raise  # a dataset that is not there is an OSError too
        except OSError as error:
            raise _unwritten(error, journal) from error
        finally:
            if run.is_complete or run.outcomes:
                results.take(run.outcomes)
                results.save_as(results_name(name, results, self.__name__, self.name_prefix, now))
            if journal is not None:
                journal.unlink(missing_ok=True)
        return results

    def run(self, dataset: Iterable[Any], *arguments: Any, **named: Any) -> ExperimentResults:
        """Return the same as `arun`, for programs without an event loop."""
        return asyncio.run(self.arun(dataset, *arguments, **named))

    def _own_options(self, named: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the run, taken out of the named arguments that go to the function."""
        parameters = inspect.signature(self.func).parameters
        return {key: named.pop(key) for key in _OPTIONS if key in named and key not in parameters}

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
    """Return a decorator for functions of a row, which makes experiments of them.

    See `ExperimentFunction.arun`.

    `experiment_model` is the pydantic model of the results, and `backend` where they are kept, with its
    `options`, such as `root_dir`. `name_prefix` stands in front of the results' names. Without arguments
    the parentheses may be left out.
    """
    if inspect.isroutine(experiment_model):
        return ExperimentFunction(experiment_model)
    place = None if backend is None else resolved_backend(backend, options)

    def decorate(function: Callable[..., Any]) -> ExperimentFunction:
        return ExperimentFunction(function, experiment_model, place, name_prefix)

    return decorate


def _journal(backend: Backend, name: str) -> Path | None:
    """Return where finished rows are while the run goes on; None for back ends that are no folder."""
    if not isinstance(backend, LocalBackend):
        return None
    path = backend.path_of(name, "experiments")
    number, journal = 1, path.with_name(f"{name}.unfinished.jsonl")
    while journal.exists():
        number += 1
        journal = path.with_name(f"{name}-{number}.unfinished.jsonl")
    return journal


def _unwritten(error: OSError, journal: Path | None) -> UserError:
    return UserError(
        f"the rows cannot be written: {(error.strerror or str(error)).lower()}",
        FilePlace(error.filename or journal or "."),
        "free some space and run again",
    )
