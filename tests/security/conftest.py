from __future__ import annotations

from pathlib import Path

import pytest

from security.hostile import Hostile


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    """Return a project with Python code, and a user without any trust decision."""
    return Hostile.at(tmp_path / "project", tmp_path / "configuration")
