"""Storage backends for datasets and results: memory, local folders, and backends of other packages."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, Final

from promptls.datasets.cells import RowData
from promptls.datasets.dataset_files import FORMATS
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.filenames import file_name_problem
from promptls.text.suggest import did_you_mean, nearest

DATASETS: Final = "datasets"
EXPERIMENTS: Final = "experiments"
_NOUNS: Final = {DATASETS: "dataset", EXPERIMENTS: "experiment"}


class Backend(ABC):
    """Storage for named datasets and, separately, for named experiment results.

    The interface is that of the Ragas backends, so the two are interchangeable. A package can register its
    own backend with an entry point in the group `promptls.backends`.
    """

    @abstractmethod
    def load_dataset(self, name: str) -> list[RowData]:
        """Return the rows of the dataset `name`; raises FileNotFoundError if it does not exist."""

    @abstractmethod
    def save_dataset(self, name: str, data: list[RowData], data_model: Any = None) -> None:
        """Store the rows as the dataset `name`, replacing its previous rows."""

    @abstractmethod
    def list_datasets(self) -> list[str]:
        """Return the names of all datasets, sorted."""

    @abstractmethod
    def load_experiment(self, name: str) -> list[RowData]:
        """Return the rows of the results `name`; raises FileNotFoundError if they do not exist."""

    @abstractmethod
    def save_experiment(self, name: str, data: list[RowData], data_model: Any = None) -> None:
        """Store the rows as the results `name`."""

    @abstractmethod
    def list_experiments(self) -> list[str]:
        """Return the names of all results, sorted."""

    def stream_dataset(self, name: str) -> Iterator[RowData]:
        """Yield the rows of a dataset, one at a time if the backend supports it."""
        return iter(self.load_dataset(name))


class MissingData(UsageError, FileNotFoundError):  # noqa: N818 - as its base
    """The dataset or the results do not exist."""


class UnknownBackend(UsageError, ValueError):  # noqa: N818 - as its base
    """An unknown backend, or options that it does not accept."""


class UniformBackend(Backend):
    """A backend that stores datasets and results in the same way, in the places of these names."""

    def load_dataset(self, name: str) -> list[RowData]:
        """See `Backend`."""
        return self._load(name, DATASETS)

    def save_dataset(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """See `Backend`."""
        self._save(name, DATASETS, data)

    def list_datasets(self) -> list[str]:
        """See `Backend`."""
        return self._names(DATASETS)

    def load_experiment(self, name: str) -> list[RowData]:
        """See `Backend`."""
        return self._load(name, EXPERIMENTS)

    def save_experiment(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """See `Backend`."""
        self._save(name, EXPERIMENTS, data)

    def list_experiments(self) -> list[str]:
        """See `Backend`."""
        return self._names(EXPERIMENTS)

    @abstractmethod
    def _load(self, name: str, kind: str) -> list[RowData]: ...

    @abstractmethod
    def _save(self, name: str, kind: str, data: list[RowData]) -> None: ...

    @abstractmethod
    def _names(self, kind: str) -> list[str]: ...


class InMemory(UniformBackend):
    """Storage in memory, shared by all instances in the process."""

    _stored: ClassVar[dict[str, dict[str, list[RowData]]]] = {DATASETS: {}, EXPERIMENTS: {}}

    def _load(self, name: str, kind: str) -> list[RowData]:
        if name not in self._stored[kind]:
            raise MissingData(f"no {_NOUNS[kind]} in memory is named `{name}`", remedy="save it first")
        return [dict(row) for row in self._stored[kind][name]]

    def _save(self, name: str, kind: str, data: list[RowData]) -> None:
        self._stored[kind][name] = [dict(row) for row in data]

    def _names(self, kind: str) -> list[str]:
        return sorted(self._stored[kind])


class LocalBackend(UniformBackend):
    """One file for each dataset, in one format."""

    format: ClassVar[str]
    """The key of the format in `FORMATS`."""

    def __init__(self, root_dir: str | os.PathLike[str]) -> None:
        """Store files below `root_dir`, which is created on the first save."""
        self.root_dir = Path(root_dir)

    @property
    def _suffix(self) -> str:
        return FORMATS[self.format].suffixes[0]

    def path_of(self, name: str, kind: str) -> Path:
        """Return the path of the dataset or the results `name`.

        Raises UsageError for a name that points outside the folder.
        """
        folder = self.root_dir / kind
        for part in name.replace(os.sep, "/").split("/"):
            problem = file_name_problem(part)
            if problem is not None:
                why = f": {part!r} {problem}" if part else ""
                raise UsageError(
                    f"{name!r} is not the name of a dataset{why}", FilePlace(folder), "name a file below it"
                )
        return folder / f"{name}{self._suffix}"

    def stream_dataset(self, name: str) -> Iterator[RowData]:
        """See `Backend`; the file is located immediately, and read lazily."""
        return self._read(self._there(name, DATASETS))

    def _load(self, name: str, kind: str) -> list[RowData]:
        return list(self._read(self._there(name, kind)))

    def _read(self, path: Path) -> Iterator[RowData]:
        return (values for _, values in FORMATS[self.format].format.read_rows(path))

    def _there(self, name: str, kind: str) -> Path:
        path = self.path_of(name, kind)
        if not path.is_file():
            known = self._names(kind)
            near = nearest(name, known)
            listed = (
                f"there are {', '.join(f'`{each}`' for each in known[:10])}" if known else "there are none"
            )
            raise MissingData(
                f"no {_NOUNS[kind]} is named `{name}`",
                FilePlace(path),
                f"did you mean `{near}`?" if near else listed,
            )
        return path

    def _save(self, name: str, kind: str, data: list[RowData]) -> None:
        path = self.path_of(name, kind)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            FORMATS[self.format].format.write_rows(path, data)
        except OSError as error:
            raise UserError(
                f"the rows cannot be written: {(error.strerror or str(error)).lower()}",
                FilePlace(path),
                "check the folder and the disk space; an existing file is unchanged",
            ) from error

    def _names(self, kind: str) -> list[str]:
        folder = self.root_dir / kind
        found = folder.rglob(f"*{self._suffix}") if folder.is_dir() else ()
        names = (str(path.relative_to(folder).with_name(path.name[: -len(self._suffix)])) for path in found)
        return sorted(name for name in names if not Path(name).name.startswith("."))


class LocalCsv(LocalBackend):
    """CSV files; all values are read back as text."""

    format = "csv"


class LocalJsonl(LocalBackend):
    """JSON Lines files; values retain their JSON types."""

    format = "jsonl"


class LocalJson(LocalBackend):
    """JSON files; values retain their JSON types. Files are read as a whole."""

    format = "json"


class LocalParquet(LocalBackend):
    """Parquet files; requires pyarrow, which the extra `parquet` installs."""

    format = "parquet"


GROUPS: Final = ("promptls.backends", "ragas.backends")
"""The entry point groups. Built-in names take precedence over both, and the first group over the second."""
_METHODS: Final = ("load_dataset", "save_dataset", "load_experiment", "save_experiment")


BACKENDS: Final[dict[str, Callable[..., Backend]]] = {
    **{f"local/{each.format}": each for each in (LocalCsv, LocalJsonl, LocalJson, LocalParquet)},
    "inmemory": InMemory,
}
"""The backends of this module, by their names in Ragas; the others are entry points."""


def backend_names() -> list[str]:
    """Return the names of all installed backends."""
    return list(
        dict.fromkeys([*BACKENDS, *(point.name for group in GROUPS for point in entry_points(group=group))])
    )


def resolved_backend(backend: Any, options: dict[str, Any]) -> Backend:
    """Return `backend` itself, or, for a name, a new instance of that backend created with `options`.

    Raises UnknownBackend, which is a ValueError, for an unknown name or invalid options, and UserError
    if the package of the backend is not installed.
    """
    if not isinstance(backend, str):
        if not isinstance(backend, type) and all(hasattr(backend, method) for method in _METHODS):
            own: Backend = backend
            return own
        raise UnknownBackend(
            f"{type(backend).__name__} is not a backend", remedy=f"name one: {', '.join(backend_names())}"
        )
    made = _class_of(backend)
    try:
        found: Backend = made(**options)
    except TypeError as error:
        said = re.sub(r"^(\w+\.)?__init__\(\) ", "", str(error))
        raise UnknownBackend(
            f"the backend `{backend}` cannot be made: {said}", remedy="pass it as a keyword argument"
        ) from error
    return found


def _class_of(name: str) -> Any:
    if name in BACKENDS:
        return BACKENDS[name]
    points = [point for group in GROUPS for point in entry_points(group=group, name=name)]
    if points:
        try:
            return points[0].load()
        except Exception as error:
            raise UserError(
                f"the backend `{name}` cannot be loaded: {type(error).__name__}: {error}",
                remedy=f"check the package that has it: {points[0].value}",
            ) from error
    names = backend_names()
    raise UnknownBackend(
        f"there is no backend `{name}`{did_you_mean(name, names)}", remedy=f"there are {', '.join(names)}"
    )
