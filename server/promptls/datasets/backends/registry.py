"""The back ends by name: our own, those that packages have registered, and any object that is one."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any, Final

from promptls.datasets.backends.backend import Backend
from promptls.datasets.backends.missing import UnknownBackend
from promptls.text.failure import Failure
from promptls.text.nearest import did_you_mean

OWN: Final[dict[str, str]] = {
    "local/csv": "promptls.datasets.backends.local_csv:LocalCsv",
    "local/jsonl": "promptls.datasets.backends.local_jsonl:LocalJsonl",
    "local/json": "promptls.datasets.backends.local_json:LocalJson",
    "local/parquet": "promptls.datasets.backends.local_parquet:LocalParquet",
    "inmemory": "promptls.datasets.backends.in_memory:InMemory",
    "gdrive": "promptls.datasets.backends.google_drive:GoogleDrive",
}
"""Our own classes, by the names that Ragas gives them."""
GROUPS: Final = ("promptls.backends", "ragas.backends")
"""The groups of entry points; our own names go before them, and the first group before the second."""
_METHODS: Final = ("load_dataset", "save_dataset", "load_experiment", "save_experiment")


def backend_names() -> list[str]:
    """The names of all back ends that are installed."""
    return list(
        dict.fromkeys([*OWN, *(point.name for group in GROUPS for point in entry_points(group=group))])
    )


def resolved_backend(backend: Any, options: dict[str, Any]) -> Backend:
    """The back end itself, or one of the class of that name, made with `options`.

    Raises UnknownBackend, which is a ValueError, for a name or options that do not fit, and Failure
    where the package of a back end is not installed.
    """
    if not isinstance(backend, str):
        if not isinstance(backend, type) and all(hasattr(backend, method) for method in _METHODS):
            own: Backend = backend
            return own
        raise UnknownBackend(
            f"{type(backend).__name__} is no back end", remedy=f"name one: {', '.join(backend_names())}"
        )
    made = _class_of(backend)
    try:
        found: Backend = made(**options)
    except TypeError as error:
        said = str(error).replace(f"{made.__name__}.__init__() ", "").replace("__init__() ", "")
        raise UnknownBackend(
            f"the back end `{backend}` cannot be made: {said}", remedy="give it as an argument by its name"
        ) from error
    return found


def _class_of(name: str) -> Any:
    if name in OWN:
        module, _, attribute = OWN[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    points = [point for group in GROUPS for point in entry_points(group=group, name=name)]
    if points:
        try:
            return points[0].load()
        except Exception as error:
            raise Failure(
                f"the back end `{name}` cannot be loaded: {type(error).__name__}: {error}",
                remedy=f"check the package that has it: {points[0].value}",
            ) from error
    names = backend_names()
    raise UnknownBackend(
        f"there is no back end `{name}`{did_you_mean(name, names)}", remedy=f"there are {', '.join(names)}"
    )
