"""The recorded cases of the real Prompt Poet."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STAGES = {"reserved-keys": "data", "load": "load", "render": "render", "yaml": "yaml", "parts": "parts"}
"""The stages at which a case fails, by the names that they were recorded under."""


def cases_folder() -> Path | None:
    """The folder of the recorded cases, or None where it is not beside the project."""
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "oracle" / "prompt_poet"
        if folder.is_dir():
            return folder
    return None


def recorded_cases() -> list[Any]:
    """One parameter a case, for `pytest.mark.parametrize`; one that is skipped where there are none."""
    folder = cases_folder()
    if folder is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason="the recorded results are not here"))]
    names = sorted(data.name.removesuffix(".data.json") for data in folder.glob("*.data.json"))
    return [pytest.param(folder / f"{name}.yml.j2", id=name) for name in names]


def mock(behaviour: dict[str, Any]) -> Callable[..., Any]:
    """A function of the data that does what was recorded of it."""

    def call(*arguments: Any, **named: Any) -> Any:
        if "raises" in behaviour:
            raise ValueError(behaviour["raises"])
        if "builtin" in behaviour:
            return json.dumps(*arguments, **named)
        return behaviour["returns"]

    return call


def plain(value: Any) -> Any:
    """A value in the form of the recorded ones."""
    if isinstance(value, dt.date):
        return {"$type": type(value).__name__, "value": value.isoformat()}
    if isinstance(value, dict):
        return {key: plain(its) for key, its in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value
