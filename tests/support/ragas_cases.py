"""The recorded results of the real Ragas, where they lie beside the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class RagasCase(NamedTuple):
    """One prompt object, the release that it was given to, and what that made of it."""

    release: str
    fields: dict[str, Any]
    inputs: dict[str, Any]
    expected: dict[str, Any]


def ragas_cases() -> list[Any]:
    """Every case as a parameter; a skipped one where there are none."""
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "oracle" / "ragas"
        if folder.is_dir():
            return [_case(path) for path in sorted(folder.glob("*.data.json"))]
    return [pytest.param(None, marks=pytest.mark.skip(reason="the recorded results are not here"))]


def _case(path: Path) -> Any:
    name = path.name.removesuffix(".data.json")
    expected = json.loads(path.with_name(f"{name}.expected.json").read_text("utf-8"))
    fields = json.loads(path.with_name(f"{name}.prompt.json").read_text("utf-8"))
    release = expected["system"].split()[1]
    return pytest.param(
        RagasCase(release, fields, json.loads(path.read_text("utf-8")).get("format", {}), expected), id=name
    )
