"""Datasets in programs: lists of rows with a place to be kept in, as the documents of Ragas have them."""

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
    """Rows under a name, in order. Nothing is read or written but by `load`, `reload` and `save`.

    Rows are mappings, or instances of `data_model` where there is one. `backend` is the name of a back
    end, which the other arguments are for, or one itself.
    """

    _keeps_results: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        backend: str | Backend = "inmemory",
        data_model: type[BaseModel] | None = None,
        data: Iterable[Item] | None = None,
        **options: Any,
    ) -> None:
        """Make a table with the rows `data`.

        Raises what the back end raises, and TypeError for what is no row.
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
        """Return the table that is kept under the name.

        Raises a FileNotFoundError that names what there is, UserError with the place of a row that cannot
        be read, and pydantic's ValidationError for a row that the model refuses.
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
        """Return a table with the rows of a data frame of pandas."""
        if not hasattr(dataframe, "to_dict"):
            raise TypeError(f"a data frame of pandas is needed, and this is a {type(dataframe).__name__}")
        return cls(name, backend, data_model, dataframe.to_dict(orient="records"), **options)

    def append(self, item: Item) -> None:
        """Add a row at the end; raises TypeError for what is no row, and what the model raises."""
        if self.data_model is None:
            if not isinstance(item, Mapping):
                raise TypeError(f"a row is a mapping of columns to values, and this is a {_kind(item)}")
            self._rows.append(item if isinstance(item, dict) else dict(item))
        elif isinstance(item, Mapping):
            self._rows.append(self.data_model(**item))
        elif isinstance(item, self.data_model):
            self._rows.append(item)
        else:
            raise TypeError(
                f"a row is a {self.data_model.__name__} or a mapping, and this is a {_kind(item)}"
            )

    def save(self) -> None:
        """Keep the rows under the name, in place of those that were.

        Raises UserError where that cannot be.
        """
        keep = self.backend.save_experiment if self._keeps_results else self.backend.save_dataset
        keep(self.name, self.to_dicts(), data_model=self.data_model)

    def reload(self) -> None:
        """Take the rows that are kept under the name; raises as `load` does."""
        kept = (
            self.backend.load_experiment(self.name)
            if self._keeps_results
            else self.backend.load_dataset(self.name)
        )
        self._rows = []
        for row in kept:
            self.append(row)

    def validate_with(self, data_model: type[BaseModel]) -> Self:
        """Return the same table with rows of the model; raises pydantic's ValidationError."""
        if self.data_model is not None:
            raise ValueError(f"the rows are of the model {self.data_model.__name__} already")
        return type(self)(self.name, self.backend, data_model, self._rows)

    def to_dicts(self) -> list[RowData]:
        """Return the rows as mappings."""
        return [row.model_dump() if isinstance(row, BaseModel) else dict(row) for row in self._rows]

    def to_pandas(self) -> Any:
        """Return the rows as a data frame of pandas, which must be installed."""
        return import_module("pandas").DataFrame(self.to_dicts())

    def train_test_split(self, test_size: float = 0.2, random_state: int | None = None) -> tuple[Self, Self]:
        """Return two tables in memory, the second with the share `test_size` of the rows.

        This one stays as it is.

        The rows are shuffled where `random_state` seeds the shuffling.
        """
        rows = list(self._rows)
        if random_state is not None:
            random.Random(random_state).shuffle(rows)  # noqa: S311 - nothing is to be kept secret
        cut = int(len(rows) * (1 - test_size))
        return (
            type(self)(f"{self.name}_train", InMemory(), self.data_model, rows[:cut]),
            type(self)(f"{self.name}_test", InMemory(), self.data_model, rows[cut:]),
        )

    def get_row_value(self, row: Item, key: str) -> Any:
        """Return the value of a row's column; None if it has none."""
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
    """Rows to run experiments on. See `DataTable`."""

    @classmethod
    def stream(
        cls, name: str, backend: str | Backend, data_model: type[BaseModel] | None = None, **options: Any
    ) -> DatasetStream:
        """Return the dataset that is kept under the name, read row by row each time it is gone through."""
        return DatasetStream(name, resolved_backend(backend, options), data_model)


class DatasetStream:
    """The rows of a dataset that are never all in memory. It can be gone through more than once."""

    def __init__(self, name: str, backend: Backend, data_model: type[BaseModel] | None) -> None:
        """Refer to the dataset `name` of the back end, which is opened when the first row is read."""
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
