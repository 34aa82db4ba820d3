"""Shared code of the programs that ask a real library; they run in its environment, without promptls.

Each reads a JSON list of cases from standard input, and writes a list of results to standard output.
"""

from __future__ import annotations

import datetime as dt
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def answer(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write the result of `ask` for each case; output of the library goes elsewhere."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    cases = json.loads(sys.stdin.buffer.read())
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    output.write(json.dumps([ask(case) for case in cases]).encode())
    output.close()


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    """Return the value of a call or its error."""
    try:
        return {"value": plain(call())}
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": described(error)}


def described(error: Exception) -> dict[str, Any]:
    """Return the type and message of an error."""
    return {"type": type(error).__name__, "message": str(error)}


def plain(value: Any) -> Any:
    """Return a value that JSON can represent."""
    if isinstance(value, dt.date):
        return {"$type": type(value).__name__, "value": value.isoformat()}
    if isinstance(value, dict):
        return {key: plain(its) for key, its in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def without_init(*packages: str) -> None:
    """Import modules of these packages without their `__init__`, which imports what no case needs."""
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"{name} is no package here. Remove its environment, and ask again.")
        module = ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations)
        sys.modules[name] = module


def absent(*names: str) -> None:
    """Import empty modules in place of these packages and modules, and of all modules in them."""
    sys.meta_path.insert(0, _AbsentModules(names))  # type: ignore[arg-type]


class _AbsentType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()


class Absent(metaclass=_AbsentType):
    """A placeholder for everything in an absent module: class, function or decorator."""

    def __init__(self, *_arguments: Any, **_named: Any) -> None:
        pass

    def __call__(self, decorated: Any = None) -> Any:
        return self if decorated is None else decorated

    def __getattr__(self, _name: str) -> Any:
        return self


class _AbsentModules:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, *_others: Any) -> importlib.machinery.ModuleSpec | None:
        if not any(name == each or name.startswith(f"{each}.") for each in self._names):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent
