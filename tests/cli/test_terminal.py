from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TextIO, cast

import pytest

from promptls.cli import terminal
from promptls.cli.safe_stream import SafeStream
from promptls.text.errors import FilePlace


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_gets_colors() -> None:
    inside = Terminal()
    stream = cast("TextIO", SafeStream(inside))
    stream.write(terminal.paint("error", "red", stream))
    assert inside.getvalue() == "\033[1;31merror\033[0m"


def test_a_file_gets_no_colors() -> None:
    assert terminal.paint("error", "red", io.StringIO()) == "error"


def test_a_dumb_terminal_gets_no_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal.wants_color(Terminal())


def test_no_color_silences_even_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not terminal.wants_color(Terminal())


def test_force_color_colors_even_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert terminal.wants_color(io.StringIO())


def test_an_error_without_place_and_remedy_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.error("it broke")
    assert capsys.readouterr().err == "promptls: it broke\n"


def test_a_place_outside_the_current_folder_is_shown_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    terminal.error("it broke", FilePlace(tmp_path / "outside.csv"))
    assert f"  at {tmp_path / 'outside.csv'}\n" in capsys.readouterr().err


def test_json_keeps_characters_and_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_json({"name": "Größe", "path": Path("a")})
    shown = capsys.readouterr().out
    assert "Größe" in shown
    assert json.loads(shown) == {"name": "Größe", "path": "a"}
