"""What a place for data sets and results must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

RowData: TypeAlias = dict[str, Any]


class Backend(ABC):
    """A place for data sets, and apart from them for the results of experiments, both by name.

    The methods are those that the back ends of Ragas have, so that each fits the other's place. A back
    end of a package of its own is found by an entry point of the group `promptls.backends`.
    """

    @abstractmethod
    def load_dataset(self, name: str) -> list[RowData]:
        """The rows of the data set `name`, none of an empty one; raises FileNotFoundError."""

    @abstractmethod
    def save_dataset(self, name: str, data: list[RowData], data_model: Any = None) -> None:
        """Keep the rows as the data set `name`, in place of those that it had."""

    @abstractmethod
    def list_datasets(self) -> list[str]:
        """The names of all data sets, sorted."""

    @abstractmethod
    def load_experiment(self, name: str) -> list[RowData]:
        """The rows of the results `name`; raises FileNotFoundError."""

    @abstractmethod
    def save_experiment(self, name: str, data: list[RowData], data_model: Any = None) -> None:
        """Keep the rows as the results `name`."""

    @abstractmethod
    def list_experiments(self) -> list[str]:
        """The names of all results, sorted."""

    def stream_dataset(self, name: str) -> Iterator[RowData]:
        """The rows of a data set, one at a time where the place can do that."""
        return iter(self.load_dataset(name))


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys of all rows, each once, in the order in which they first appear."""
    return list(dict.fromkeys(str(key) for row in rows for key in row))
