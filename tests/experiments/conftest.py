from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.experiment_folder import Folder
from support.model_server import ModelServer, model_server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path).write()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running
