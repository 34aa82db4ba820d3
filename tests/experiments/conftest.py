from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.experiment_folder import Folder, last_text
from support.model_server import ModelServer, Reply, model_server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path).write()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def hold(folder: Folder, server: ModelServer) -> Iterator[threading.Event]:
    """Return the event for which the fourth and later ones of nine rows wait."""
    release = threading.Event()
    server.reply = lambda body: Reply(wait=release) if last_text(body) > "text 3" else Reply("ok")
    folder.serve(server).write(model="office", rows=9)
    yield release
    release.set()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a Ray cluster of two nodes with one CPU each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024}
    running = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    running.add_node(**node)
    yield running
    running.shutdown()
