"""The rendering limits that a folder may set."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from promptls.rendering import process
from promptls.rendering import worker as limits
from promptls.rendering.job import read_frame
from promptls.rendering.make import limits_for
from promptls.rendering.process import Outbox
from promptls.rendering.worker import Limits, limits_of
from promptls.settings.project import RenderingSettings
from promptls.workspace.workspace import Workspace

_MIB = 1 << 20
_DEFAULTS = Limits()


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate 16 GiB of memory."""
    monkeypatch.setattr(limits, "physical_memory", lambda: 16384 * _MIB)


def test_a_folder_that_is_not_trusted_can_lower_the_limits() -> None:
    assert limits_of(1.5, 200, trusted=False) == replace(_DEFAULTS, seconds=1.5, memory_bytes=200 * _MIB)


def test_a_folder_that_is_not_trusted_cannot_raise_the_limits() -> None:
    assert limits_of(600, 10**9, trusted=False) == _DEFAULTS


def test_a_trusted_folder_can_raise_the_limits() -> None:
    assert limits_of(60, 4096, trusted=True) == replace(_DEFAULTS, seconds=60, memory_bytes=4096 * _MIB)


@pytest.mark.parametrize("trusted", [True, False])
def test_nobody_gets_more_than_half_of_the_machine(trusted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "physical_memory", lambda: 1024 * _MIB)
    assert limits_of(5, 10**9, trusted=trusted).memory_bytes == 512 * _MIB


def test_the_memory_setting_applies_if_the_system_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "physical_memory", lambda: None)
    assert limits_of(5, 4096, trusted=True).memory_bytes == 4096 * _MIB


def test_the_limits_without_trust_are_the_defaults_of_the_settings() -> None:
    defaults = RenderingSettings()
    assert limits_of(defaults.timeout, defaults.memory, trusted=False) == _DEFAULTS


def test_the_settings_of_a_folder_count_with_its_trust(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text("[rendering]\ntimeout = 60\nmemory = 4096\n")
    prompt = tmp_path / "a.yml.j2"
    prompt.write_text("- {name: a, role: user, content: hello}\n")
    workspace = Workspace([tmp_path])

    assert limits_for(workspace.snapshot, str(prompt)) == _DEFAULTS
    workspace.set_trusted(trusted=True)
    assert limits_for(workspace.snapshot, str(prompt)).seconds == 60


@pytest.mark.parametrize("size", [900, 1100])
def test_an_answer_of_the_worker_has_a_limited_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_BYTES", 1000)
    stream = io.BytesIO()

    Outbox(stream).answer(7, {"outcome": {"text": "a" * size}})

    stream.seek(0)
    answer = read_frame(stream)
    assert answer["id"] == 7
    assert ("failure" in answer["outcome"]) is (size > 1000)
