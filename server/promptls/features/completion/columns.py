"""The columns of the data sets that a prompt's experiments name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptls.features.completion.request import Request
from promptls.text.failure import Failure
from promptls.text.file_stamp import kept_by_file


def column_names(request: Request) -> tuple[str, ...]:
    """The columns of every data set that the file's experiments name, each once."""
    return tuple(dict.fromkeys(name for dataset in _datasets(request) for name in _first_row(dataset)[0]))


def first_rows(request: Request) -> tuple[dict[str, Any], ...]:
    """The first row of each of those data sets."""
    return tuple(row for dataset in _datasets(request) if (row := _first_row(dataset)[1]))


def _datasets(request: Request) -> tuple[Path, ...]:
    folder = Path(request.path).parent
    experiments = request.declarations.settings.experiments
    return tuple(
        dict.fromkeys(folder / each.dataset for each in (experiments or {}).values() if each.dataset)
    )


@kept_by_file(32)
def _first_row(dataset: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The columns and the first row; nothing of a data set that cannot be read, which a run reports."""
    from promptls.datasets.registry import open_dataset

    try:
        opened = open_dataset(dataset)
        row = next(iter(opened.rows()), None)
        return tuple(opened.columns), dict(row.values) if row else {}
    except (Failure, OSError, ValueError):
        return (), {}
