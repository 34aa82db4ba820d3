from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptls.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")

CHAT = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi: {{x}}"}])


def test_a_file_is_written_beside_its_source_and_has_no_findings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "chat.json").write_text(CHAT)

    assert main(["convert", "chat.json"]) == 0
    assert capsys.readouterr().out == "wrote chat.yml.j2, read as `chat`\n"
    assert main(["check", "chat.yml.j2"]) == 0
    assert main(["render", "chat.yml.j2", "--string"]) == 0
    assert capsys.readouterr().out.endswith("Be brief.Hi: {{x}}")


def test_nothing_is_overwritten_unless_it_is_forced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat.json").write_text(CHAT)
    (folder / "chat.yml.j2").write_text("mine")

    assert main(["convert", "chat.json"]) == 2
    assert (folder / "chat.yml.j2").read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["convert", "chat.json", "--force"]) == 0
    assert (folder / "chat.yml.j2").read_text() != "mine"


def test_what_is_lost_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat.json").write_text(json.dumps({"model": "m", "messages": json.loads(CHAT)}))

    assert main(["convert", "chat.json", "-o", "-"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("- name: system\n")
    assert shown.err == (
        "not carried over:\n  - settings beside the messages: `model`\n"
        "  - message 2: `{{x}}` as an input; it stays text, as messages have no inputs\n"
    )


def test_a_template_becomes_a_prompt_object_in_a_new_file(folder: Path) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  content: Say {{ x }}.\n")

    assert main(["convert", "a.yml.j2", "--to", "object"]) == 0
    assert "Say {x}." in (folder / "a_object.yml.j2").read_text()


def test_the_standard_input_is_printed() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "promptls", "convert", "-"],
        input="Hi {name}",
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0
    assert "Hi {{ escape_special_characters(name | string) }}" in ran.stdout


def test_json_contains_the_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat.json").write_text(CHAT.replace("{{x}}", "x"))

    main(["convert", "chat.json", "--json"])

    assert json.loads(capsys.readouterr().out) == {
        "from": "chat", "to": "parts", "written": "chat.yml.j2", "text": None, "lost": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("a.json", b"{", 1, "this is not JSON"),
        ("a.json", b"\xff\xfe", 1, "not UTF-8"),
        ("a.bin", b"plain", 2, "format of the file is unknown"),
        ("a.yml.j2", b"- name: a\n  content: b\n", 2, "of the form `parts` already"),
        ("a.txt", b"{", 1, "not fields"),
    ],
)
def test_what_cannot_be_converted_is_reported(
    folder: Path, name: str, content: bytes, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_bytes(content)

    assert main(["convert", name]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert name in shown
