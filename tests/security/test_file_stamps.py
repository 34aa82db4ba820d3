from __future__ import annotations

import os
from pathlib import Path

from promptls.facts import recording
from promptls.security.files import cached_by_file, read_text, stamp_of


def test_a_file_is_read_again_only_when_its_time_or_its_size_is_another(tmp_path: Path) -> None:
    read: list[str] = []

    @cached_by_file(8)
    def text_of(path: Path, ending: str) -> str:
        read.append(ending)
        return path.read_text() + ending

    file = tmp_path / "some.txt"
    file.write_text("one")
    assert [text_of(file, "!"), text_of(file, "!"), text_of(file, "?")] == ["one!", "one!", "one?"]
    assert read == ["!", "?"]

    file.write_text("three")
    assert text_of(file, "!") == "three!"

    os.utime(file, ns=(0, 0))
    assert text_of(file, "!") == "three!"
    assert read == ["!", "?", "!", "!"]


def test_a_file_that_is_not_there_is_asked_for_each_time(tmp_path: Path) -> None:
    @cached_by_file(8)
    def is_there(path: Path) -> bool:
        return path.exists()

    file = tmp_path / "some.txt"
    assert not is_there(file)
    file.touch()
    assert is_there(file)


def test_what_no_file_can_be_called_has_no_stamp() -> None:
    assert stamp_of("a\0b") is None


def test_what_was_read_of_a_file_that_changed_meanwhile_is_outdated(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("one")
    with recording() as reads:
        with recording():
            read_text(file)
        file.write_text("three")
        with recording():
            read_text(file)
        stamp_of(file)
    assert not reads.hold(None)
    with recording() as again:
        read_text(file)
    assert again.hold(None)
