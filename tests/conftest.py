"""Fixtures and settings of all tests."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from promptls.security.files import ANYWHERE, reading_within
from support.example_counts import THOROUGH
from support.forked_starts import STARTS, forked_starts

# Tests start hundreds of processes, and without byte code each of them compiles all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long an example takes depends on what else the machine does. The examples are the same in every
# run, so that a change is judged by what it changes; `--hypothesis-profile explore` tries others.
settings.register_profile("same", max_examples=100 if THOROUGH else 40, deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("same")


def pytest_collection_finish() -> None:
    """Exclude loaded objects from garbage collection, because they live until all tests have ended."""
    gc.collect()
    gc.freeze()


_RECURSION_LIMIT = sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def usual_recursion_limit() -> None:
    """Set the limit of a new process, because Hypothesis raises it and results depend on it."""
    sys.setrecursionlimit(_RECURSION_LIMIT)


@pytest.fixture(scope="session", autouse=True)
def trusted_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust every folder, in a configuration for this session; tests of trust use their own.

    The session has its own caches too.
    """
    folder = tmp_path_factory.mktemp("configuration")
    decisions = {"form": 1, "folders": {str(Path(folder.anchor)): True}, "keys": []}
    (folder / "trust.json").write_text(json.dumps(decisions), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROMPTLS_CONFIG_DIR", str(folder))
        patch.setenv("PROMPTLS_CACHE_DIR", str(folder / "caches"))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_starts() -> Iterator[None]:
    """Fork the processes of promptls from ones that have already loaded their modules."""
    with forked_starts():
        yield


@pytest.fixture
def real_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start these processes as users do, for tests about the process."""
    monkeypatch.setattr(subprocess, "Popen", STARTS)


@pytest.fixture(autouse=True)
def unrestricted_reading() -> Iterator[None]:
    """Start each test without the file restriction that a command of another test has set."""
    with reading_within(lambda: ANYWHERE):
        yield


@pytest.fixture(autouse=True)
def no_error_is_only_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which promptls caught and logged an unexpected exception."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    assert [
        record.getMessage() for record in records if record.exc_info and record.levelno >= logging.ERROR
    ] == []
