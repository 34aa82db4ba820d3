from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptls import __version__
from promptls.cli import main as entry
from promptls.cli.commands import server
from promptls.cli.main import COMMANDS, main
from promptls.text.errors import FilePlace, UsageError, UserError

pytestmark = pytest.mark.usefixtures("real_starts")


def the_server_is_replaced_by(monkeypatch: pytest.MonkeyPatch, outcome: object) -> None:
    def execute(_arguments: object) -> int:
        if isinstance(outcome, BaseException):
            raise outcome
        assert isinstance(outcome, int)
        return outcome

    monkeypatch.setattr(server, "execute", execute)


def test_importing_the_entry_point_loads_no_component() -> None:
    heavy = {"pydantic", "pygls", "lsprotocol", "tiktoken", "rich", "jinja2", "yaml", "httpx", "argparse"}
    code = "import sys, promptls.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert heavy & set(loaded.split()) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_shows_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"  promptls {name}" in capsys.readouterr().out


def test_the_version_is_the_packages_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"promptls {__version__}\n"


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown and summary in shown for name, summary in COMMANDS.items())


def test_help_with_a_command_is_the_help_of_that_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "server"]) == 0
    assert "usage: promptls server" in capsys.readouterr().out


def test_an_unknown_command_names_the_nearest_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no command `chekc`" in shown.err
    assert "did you mean `promptls check`?" in shown.err


def test_an_unknown_option_names_the_nearest_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["server", "--stdoi"]) == 2
    shown = capsys.readouterr().err
    assert "`promptls server` has no option `--stdoi`" in shown
    assert "did you mean `--stdio`?" in shown


@pytest.mark.parametrize("words", [[], ["--stdio"], ["server"], ["server", "--stdio"]])
def test_the_server_runs_with_any_start_command_of_an_editor(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    the_server_is_replaced_by(monkeypatch, 42)
    assert main(words) == 42


def test_the_name_of_another_tool_s_command_leads_to_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix"]) == 2
    assert "did you mean `promptls check --fix`?" in capsys.readouterr().err


def test_a_port_that_no_machine_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", "a.yml.j2", "--port", "99999"]) == 2
    assert "`99999` is not a port from 1 to 65535" in capsys.readouterr().err


def test_a_failure_is_shown_with_place_and_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = FilePlace(Path.cwd() / "prompts" / "a.yml.j2", line=2, column=4)
    the_server_is_replaced_by(monkeypatch, UserError("no such model", place, "name another"))
    assert main(["server"]) == 1
    written = f"prompts{os.sep}a.yml.j2:3:5"
    assert capsys.readouterr().err == f"promptls: no such model\n  at {written}\n  → name another\n"


def test_wrong_use_exits_2(monkeypatch: pytest.MonkeyPatch) -> None:
    the_server_is_replaced_by(monkeypatch, UsageError("not that way"))
    assert main(["server"]) == 2


def test_a_full_disk_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    the_server_is_replaced_by(monkeypatch, OSError(errno.ENOSPC, "No space left on device", "results.csv"))
    assert main(["server"]) == 1
    shown = capsys.readouterr().err
    assert "no space left on device" in shown
    assert "at results.csv" in shown
    assert "finished work is saved" in shown


def test_an_interrupt_exits_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    the_server_is_replaced_by(monkeypatch, KeyboardInterrupt())
    assert main(["server"]) == entry.INTERRUPTED == 130
    assert capsys.readouterr().err == "promptls: interrupted\n"


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "promptls", "--help"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_command_whose_streams_are_closed_ends_as_it_would() -> None:
    command = f'"{sys.executable}" -m promptls explain unknown-role <&- >&- 2>&-'
    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0


def test_a_misspelled_version_option_does_not_start_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--verion"]) == 2
    assert "did you mean `--version`?" in capsys.readouterr().err


def test_a_missing_argument_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render"]) == 2
    assert capsys.readouterr().err.startswith("promptls: `promptls render` needs FILE\n")


def test_an_argument_too_many_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unknown-role", "more"]) == 2
    assert "`more` is one argument too many" in capsys.readouterr().err
