"""The cases of `tests/oracle/prompt_poet`, as files and data."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEMPLATE = "main.yml.j2"
"""The file name of a case's template."""


def written(case: dict[str, Any], folder: Path) -> Path:
    """Write the files of a case into a folder, and return the path of its template."""
    for name, text in {TEMPLATE: case["template"], **case.get("files", {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder / TEMPLATE


def data_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a case, with its functions."""
    functions = {name: _function(behavior) for name, behavior in case.get("functions", {}).items()}
    return {**case["data"], **functions}


def _function(behavior: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with the behavior described in the case."""

    def call(*arguments: Any, **named: Any) -> Any:
        if "raises" in behavior:
            raise ValueError(behavior["raises"])
        if "builtin" in behavior:
            return json.dumps(*arguments, **named)
        return behavior["returns"]

    return call


def plain(value: Any) -> Any:
    """Return a value as it is recorded."""
    if isinstance(value, dt.date):
        return {"$type": type(value).__name__, "value": value.isoformat()}
    if isinstance(value, dict):
        return {key: plain(its) for key, its in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value
