"""The back ends that data sets are read by, one module each with an `open_file(path)`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from promptls.datasets.dataset import Dataset
from promptls.text.failure import FilePlace, WrongUse

BACKENDS: dict[str, str] = {
    "local/csv": "promptls.datasets.csv_file",
    "local/jsonl": "promptls.datasets.jsonl_file",
    "local/json": "promptls.datasets.json_file",
    "local/parquet": "promptls.datasets.parquet_file",
}
"""The module of each back end by the name that Ragas gives it."""

_BACKEND_OF_SUFFIX = {
    ".csv": "local/csv",
    ".jsonl": "local/jsonl",
    ".ndjson": "local/jsonl",
    ".json": "local/json",
    ".parquet": "local/parquet",
}
SUFFIXES: tuple[str, ...] = tuple(_BACKEND_OF_SUFFIX)
"""The endings of files that are data sets."""


def open_dataset(path: Path | str, backend: str | None = None) -> Dataset:
    """The data set at `path`, read by `backend` or by the back end of the file's ending.

    Raises `WrongUse` for an unknown ending, an unknown back end or a missing file, and `Failure`
    where the columns cannot be read.
    """
    file = Path(path)
    name = backend or _BACKEND_OF_SUFFIX.get(file.suffix.lower())
    if name is None:
        endings = ", ".join(f"`{suffix}`" for suffix in _BACKEND_OF_SUFFIX)
        raise WrongUse(
            f"a data set cannot end in `{file.suffix}`", FilePlace(file), f"save it as one of {endings}"
        )
    if name not in BACKENDS:
        known = ", ".join(f"`{known}`" for known in BACKENDS)
        raise WrongUse(f"there is no back end `{name}` for data sets", FilePlace(file), f"use one of {known}")
    return cast("Dataset", importlib.import_module(BACKENDS[name]).open_file(file))
