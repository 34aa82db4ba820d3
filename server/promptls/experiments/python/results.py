"""What a code-defined experiment came to: a table of results under a name of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from promptls.datasets.backends import Backend, LocalBackend
from promptls.datasets.dataset import DataTable
from promptls.experiments.python.row_function import FunctionOutcome
from promptls.text.file_names import as_file_name

_STAMPED: Final = re.compile(r"\d{8}-\d{6}-")


class ExperimentResults(DataTable):
    """One row for each row of the dataset, in its order. See `DataTable`."""

    _keeps_results: ClassVar[bool] = True

    def __init__(self, name: str, backend: str | Backend = "inmemory", *more: Any, **options: Any) -> None:
        """Create an empty table."""
        super().__init__(name, backend, *more, **options)
        self.errors: tuple[tuple[int, str], ...] = ()
        """Of each row that failed its index, from 0, and why."""

    def take(self, outcomes: Sequence[FunctionOutcome]) -> None:
        """Have these results in place of all others."""
        self._rows = [outcome.result for outcome in outcomes]
        self.errors = tuple(
            (index, outcome.error) for index, outcome in enumerate(outcomes) if outcome.error is not None
        )

    def save_as(self, name: str) -> None:
        """Keep the results under `name`, or, where there are others, under it with a number."""
        self.name = free_name(self.backend, name)
        self.save()


def free_name(backend: Backend, name: str) -> str:
    """Return the name, or with `-2`, `-3` … behind it where results have it already."""
    number, candidate = 1, name
    while not _claimed(backend, candidate):
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _claimed(backend: Backend, name: str) -> bool:
    """Return whether the name was free.

    Of a file then nobody else can have it, also not at the same moment.
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


def results_name(given: str | None, rows: Iterable[Any], function: str, prefix: str, now: datetime) -> str:
    """Return the name of the results: the given one, the rows' common `experiment_name`, or the function's.

    It begins with the time of the run, unless it begins with one already.
    """
    name = given or _common_name(rows) or function
    name = as_file_name(f"{prefix}-{name}" if prefix else name)
    return name if _STAMPED.match(name) else f"{now:%Y%m%d-%H%M%S}-{name}"


def _common_name(rows: Iterable[Any]) -> str | None:
    values = [row if isinstance(row, dict) else vars(row) for row in rows]
    names = {row["experiment_name"] for row in values if isinstance(row.get("experiment_name"), str)}
    return names.pop() or None if len(names) == 1 else None
