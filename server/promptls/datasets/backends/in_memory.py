"""`inmemory`: kept by the process, and gone with it."""

from __future__ import annotations

from typing import Any, ClassVar

from promptls.datasets.backends.backend import Backend, RowData
from promptls.datasets.backends.missing import MissingData


class InMemory(Backend):
    """What one back end of this kind keeps, all of them in the process find again."""

    _datasets: ClassVar[dict[str, list[RowData]]] = {}
    _experiments: ClassVar[dict[str, list[RowData]]] = {}

    def load_dataset(self, name: str) -> list[RowData]:
        """As in Backend."""
        return _loaded(self._datasets, name, "data set")

    def save_dataset(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """As in Backend."""
        self._datasets[name] = [dict(row) for row in data]

    def list_datasets(self) -> list[str]:
        """As in Backend."""
        return sorted(self._datasets)

    def load_experiment(self, name: str) -> list[RowData]:
        """As in Backend."""
        return _loaded(self._experiments, name, "experiment")

    def save_experiment(self, name: str, data: list[RowData], data_model: Any = None) -> None:  # noqa: ARG002
        """As in Backend."""
        self._experiments[name] = [dict(row) for row in data]

    def list_experiments(self) -> list[str]:
        """As in Backend."""
        return sorted(self._experiments)


def _loaded(kept: dict[str, list[RowData]], name: str, noun: str) -> list[RowData]:
    if name not in kept:
        raise MissingData(f"no {noun} in memory is named `{name}`", remedy="save it first")
    return [dict(row) for row in kept[name]]
