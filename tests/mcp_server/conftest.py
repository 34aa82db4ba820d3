from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support_triage"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty trusted folder, the working directory of the server."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def untrusted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the same folder, without a decision of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROMPTLS_CONFIG_DIR", str(tmp_path_factory.mktemp("undecided")))
        yield folder


@pytest.fixture
def example(folder: Path) -> Path:
    """Return a copy of the example project."""
    return shutil.copytree(
        EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("experiments", ".git")
    )
