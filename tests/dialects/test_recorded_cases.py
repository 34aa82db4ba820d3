"""The recorded cases are complete, and formatted as `oracle.ask --record` writes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from oracle import recorded
from oracle.ask import LIBRARIES

FILES = [path for system in LIBRARIES for path in recorded.files(system)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recording_again_changes_nothing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copyfile(path, copy)
    recorded.write(copy, recorded.files(path.parent.name)[path])
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("system", LIBRARIES)
def test_every_case_has_a_result_of_a_release_that_is_asked(system: str) -> None:
    cases = recorded.cases(system)
    releases = LIBRARIES[system].releases
    assert cases
    assert [name for name, case in cases.items() if "expected" not in case] == []
    assert [name for name, case in cases.items() if case.get("release", releases[0]) not in releases] == []
