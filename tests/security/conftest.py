from __future__ import annotations

from pathlib import Path

import pytest

from security.hostile import Hostile


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    """A project with Python of its own, and a user who has decided nothing on it."""
    return Hostile.at(tmp_path / "project", tmp_path / "configuration")
