"""The files of `tests/corpus/files`: prompts and other files of real projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).resolve().parents[1] / "corpus" / "files"
SUFFIXES = {".j2", ".yaml", ".yml", ".sls"}


def corpus(*below: str, suffixes: set[str] = SUFFIXES) -> list[Any]:
    """Return the files below these folders of the corpus for `pytest.mark.parametrize`."""
    found = [path for folder in below for path in sorted((FILES / folder).rglob("*"))]
    return [
        pytest.param(path, id=path.relative_to(FILES).as_posix()) for path in found if path.suffix in suffixes
    ]
