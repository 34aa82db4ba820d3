"""What holds for every test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does. The examples are the same in every
# run, so that a change is judged by what it changes; `--hypothesis-profile explore` tries others.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def no_error_is_only_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which promptls caught an unexpected exception and went on."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    assert [
        record.getMessage() for record in records if record.exc_info and record.levelno >= logging.ERROR
    ] == []
