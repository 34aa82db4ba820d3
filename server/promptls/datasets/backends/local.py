"""Data sets and results as files below a folder: `<root_dir>/datasets` and `<root_dir>/experiments`."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from promptls.datasets.backends.backend import Backend, RowData
from promptls.datasets.backends.missing import MissingData
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.text.nearest import nearest


class LocalBackend(Backend):
    """One file for each data set, in one format."""

    ending: ClassVar[str]
    """How the names of the files end, with the dot."""

    def __init__(self, root_dir: str | os.PathLike[str]) -> None:
        """Below `root_dir`, which counts from the process's folder and is made when something is saved."""
        self.root_dir = Path(root_dir)

    @abstractmethod
    def read(self, path: Path) -> Iterator[RowData]:
        """The rows of a file that is there, one at a time; raises Failure at what cannot be read."""

    @abstractmethod
    def write(self, path: Path, rows: Sequence[RowData]) -> None:
        """Put the rows into the file, as a whole or not at all; raises OSError."""

    def path_of(self, name: str, kind: str) -> Path:
        """The file of the data set or the results `name`; raises WrongUse for a name that leads elsewhere."""
        folder = self.root_dir / kind
        path = folder / f"{name}{self.ending}"
        outside = ".." in Path(name).parts or Path(name).is_absolute()
        if not name or outside or "\0" in name:
            raise WrongUse(f"`{name}` is no name of a data set", FilePlace(folder), "name a file below it")
        return path

    def load_dataset(self, name: str) -> list[RowData]:
        """As in Backend."""
        return list(self.stream_dataset(name))

    def stream_dataset(self, name: str) -> Iterator[RowData]:
        """As in Backend; the file is looked for at once, and read while rows are asked for."""
        return self.read(self._there(name, "datasets"))

    def save_dataset(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """As in Backend."""
        self._save(self.path_of(name, "datasets"), data)

    def list_datasets(self) -> list[str]:
        """As in Backend."""
        return self._names("datasets")

    def load_experiment(self, name: str) -> list[RowData]:
        """As in Backend."""
        return list(self.read(self._there(name, "experiments")))

    def save_experiment(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """As in Backend."""
        self._save(self.path_of(name, "experiments"), data)

    def list_experiments(self) -> list[str]:
        """As in Backend."""
        return self._names("experiments")

    def _there(self, name: str, kind: str) -> Path:
        path = self.path_of(name, kind)
        if not path.is_file():
            known = self._names(kind)
            near = nearest(name, known)
            listed = (
                f"there are {', '.join(f'`{each}`' for each in known[:10])}" if known else "there are none"
            )
            noun = "data set" if kind == "datasets" else "experiment"
            raise MissingData(
                f"no {noun} is named `{name}`", FilePlace(path), f"did you mean `{near}`?" if near else listed
            )
        return path

    def _save(self, path: Path, data: Sequence[RowData]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.write(path, data)
        except OSError as error:
            raise Failure(
                f"the rows cannot be written: {(error.strerror or str(error)).lower()}",
                FilePlace(path),
                "check the folder and the space on the disk; a file that was there is as it was",
            ) from error

    def _names(self, kind: str) -> list[str]:
        folder = self.root_dir / kind
        found = folder.rglob(f"*{self.ending}") if folder.is_dir() else ()
        names = (str(path.relative_to(folder).with_name(path.name[: -len(self.ending)])) for path in found)
        return sorted(name for name in names if not Path(name).name.startswith("."))
