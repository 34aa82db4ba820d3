from __future__ import annotations

import json

import pytest

from promptls.cli import diagnosis
from promptls.cli.diagnosis import Check
from promptls.cli.main import main


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Check]:
    checks = [Check("promptls", "Python", "fine", "3.11")]
    monkeypatch.setattr(diagnosis, "diagnose", lambda _folder: tuple(checks))
    return checks


def test_a_sound_installation_exits_0(found: list[Check], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "Everything that promptls needs is installed." in capsys.readouterr().out


def test_something_optional_that_is_missing_is_no_failure(found: list[Check]) -> None:
    found.append(Check("editors", "Emacs", "absent", "not on the PATH"))
    assert main(["doctor"]) == 0


def test_something_broken_exits_1_and_says_what_to_do(
    found: list[Check], capsys: pytest.CaptureFixture[str]
) -> None:
    found.append(Check("packages", "pygls", "broken", "not installed", "pip install pygls"))
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "✗ pygls" in shown
    assert "→ pip install pygls" in shown
    assert "1 thing to fix." in shown


def test_it_ends_with_the_commands_that_install_what_is_missing(
    found: list[Check], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, state, installs in (
        ("pygls", "broken", "pygls>=2.1"),
        ("httpx", "absent", "promptls[remote]"),
        ("aiolimiter", "absent", "promptls[remote]"),
        ("scipy", "absent", "promptls[metrics]"),
        ("local:smollm2", "absent", "local:smollm2"),
    ):
        found.append(Check("packages", name, state, "not installed", "a remedy", installs))
    main(["doctor"])
    pip, models = capsys.readouterr().out.splitlines()[-2:]
    assert pip.endswith("-m pip install 'pygls>=2.1' 'promptls[remote,metrics]'")
    assert models == "  promptls models --install local:smollm2"


def test_json_contains_every_check(found: list[Check], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "topic": "promptls",
            "name": "Python",
            "state": "fine",
            "detail": "3.11",
            "remedy": None,
            "installs": None,
        }
    ]
