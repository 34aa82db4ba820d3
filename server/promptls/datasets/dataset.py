"""Datasets for Python programs: lists of rows with a storage backend, compatible with Ragas."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeAlias, TypeVar, overload

from pydantic import BaseModel
from typing_extensions import Self

from promptls.datasets.backends import Backend, InMemory, resolved_backend
from promptls.datasets.cells import RowData

Table = TypeVar("Table", bound="DataTable")
Item: TypeAlias = Any
"""A row: a mapping, or an instance of the table's model."""


class DataTable:
    """A named, ordered list of rows. Only `load`, `reload` and `save` read or write storage.

    Rows are mappings, or instances of `data_model` if one is set. `backend` is a backend object, or the
    name of a backend, which is created with the remaining arguments.
    """

    _has_results: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        backend: str | Backend = "inmemory",
        data_model: type[BaseModel] | None = None,
        data: Iterable[Item] | None = None,
        **options: Any,
    ) -> None:
        """Create a table with the rows `data`.

        Raises whatever the backend raises, and TypeError for an item that is not a row.
        """
        self.name = name
        self.data_model = data_model
        self.backend = resolved_backend(backend, options)
        self._rows: list[Item] = []
        for item in data or ():
            self.append(item)

    @classmethod
    def load(
        cls,
        name: str,
        backend: str | Backend,
        data_model: type[BaseModel] | None = None,
        **options: Any,
    ) -> Self:
        """Return the table stored under the name.

        Raises FileNotFoundError with the existing names, UserError with the location of a row that cannot
        be read, and pydantic's ValidationError for a row that the model rejects.
        """
        table = cls(name, backend, data_model, None, **options)
        table.reload()
        return table

    @classmethod
    def from_pandas(
        cls,
        dataframe: Any,
        name: str,
        backend: str | Backend = "inmemory",
        data_model: type[BaseModel] | None = None,
        **options: Any,
    ) -> Self:
        """Return a table with the rows of a pandas DataFrame."""
        if not hasattr(dataframe, "to_dict"):
            raise TypeError(f"expected a pandas DataFrame, not {type(dataframe).__name__}")
        return cls(name, backend, data_model, dataframe.to_dict(orient="records"), **options)

    def append(self, item: Item) -> None:
        """Append a row; raises TypeError if the item is not a row, and whatever the model raises."""
        if self.data_model is None:
            if not isinstance(item, Mapping):
                raise TypeError(f"a row must be a mapping of columns to values, not {_kind(item)}")
            self._rows.append(item if isinstance(item, dict) else dict(item))
        elif isinstance(item, Mapping):
            self._rows.append(self.data_model(**item))
        elif isinstance(item, self.data_model):
            self._rows.append(item)
        else:
            raise TypeError(f"a row is a {self.data_model.__name__} or a mapping, not {_kind(item)}")

    def save(self) -> None:
        """Store the rows under the table's name, replacing the stored rows.

        Raises UserError if they cannot be stored.
        """
        save = self.backend.save_experiment if self._has_results else self.backend.save_dataset
        save(self.name, self.to_dicts(), data_model=self.data_model)

    def reload(self) -> None:
        """Replace the rows with the stored ones; raises the same errors as `load`."""
        rows = (
            self.backend.load_experiment(self.name)
            if self._has_results
            else self.backend.load_dataset(self.name)
        )
        self._rows = []
        for row in rows:
            self.append(row)

    def validate_with(self, data_model: type[BaseModel]) -> Self:
        """Return a copy with rows validated by the model; raises pydantic's ValidationError."""
        if self.data_model is not None:
            raise ValueError(f"the rows are of the model {self.data_model.__name__} already")
        return type(self)(self.name, self.backend, data_model, self._rows)

    def to_dicts(self) -> list[RowData]:
        """Return the rows as mappings."""
        return [row.model_dump() if isinstance(row, BaseModel) else dict(row) for row in self._rows]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; requires pandas."""
        return import_module("pandas").DataFrame(self.to_dicts())

    def train_test_split(self, test_size: float = 0.2, random_state: int | None = None) -> tuple[Self, Self]:
        """Return two in-memory tables; the second contains the fraction `test_size` of the rows.

        The rows are shuffled if the seed `random_state` is set. This table is not modified.
        """
        rows = list(self._rows)
        if random_state is not None:
            random.Random(random_state).shuffle(rows)  # noqa: S311 - not used for cryptography
        cut = int(len(rows) * (1 - test_size))
        return (
            type(self)(f"{self.name}_train", InMemory(), self.data_model, rows[:cut]),
            type(self)(f"{self.name}_test", InMemory(), self.data_model, rows[cut:]),
        )

    def get_row_value(self, row: Item, key: str) -> Any:
        """Return the value of a column of the row; None if it is missing."""
        return row.get(key) if isinstance(row, Mapping) else getattr(row, key, None)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item:
        return self._rows[index]

    def __repr__(self) -> str:
        model = f"model={self.data_model.__name__}, " if self.data_model else ""
        return f"{type(self).__name__}(name={self.name}, {model}len={len(self)})"


class Dataset(DataTable):
    """Rows to run experiments on."""

    @classmethod
    def stream(
        cls, name: str, backend: str | Backend, data_model: type[BaseModel] | None = None, **options: Any
    ) -> DatasetStream:
        """Return the stored dataset as a stream that is read row by row on each iteration."""
        return DatasetStream(name, resolved_backend(backend, options), data_model)


class DatasetStream:
    """A dataset whose rows are read lazily. It can be iterated more than once."""

    def __init__(self, name: str, backend: Backend, data_model: type[BaseModel] | None) -> None:
        """Create a stream of the dataset `name`, which is opened when the first row is read."""
        self.name = name
        self.backend = backend
        self.data_model = data_model

    def __iter__(self) -> Iterator[Item]:
        streamed = getattr(self.backend, "stream_dataset", None)
        rows = streamed(self.name) if streamed else iter(self.backend.load_dataset(self.name))
        return map(self._item, rows)

    def _item(self, row: RowData) -> Item:
        return row if self.data_model is None else self.data_model(**row)


def _kind(item: Any) -> str:
    return type(item).__name__
