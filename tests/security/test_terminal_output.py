"""Foreign text cannot control a terminal: no command prints its escape sequences."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from support.model_server import ModelServer, Reply, model_server
from support.terminals import on_terminal, piped

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal and such file names")

HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x1b[38;5;196m\x1b]52;c;T1dORUQ=\x1b\\\x9b31m\u202e\u2066\x7f\rOVER"
"""Sets the title and the clipboard, clears the screen, changes colors and the writing direction."""
IN_TOML = "".join(
    f"\\u{ord(each):04x}" if ord(each) < 160 and not each.isalnum() else each for each in HOSTILE
)
NAME = "bad\n::warning::OWNED\n\x1b]0;OWNED\x07\u202e.yml.j2"

OWN = re.compile(r"\x1b\[(?:0|1|2|32|36|1;3[134])m")
"""The escape sequences of our own colors."""
LIVE = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|1A|2K|K)|\r")
"""Those of progress displays, which contain no foreign text."""
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

PROMPT = f"""\
{{#---
description: {json.dumps(HOSTILE)}
input_keys: [text]
output_key: expected
encoding: cl100k_base
experiments:
  main:
    dataset: rows.jsonl
    models: [MODEL]
    metrics: [exact_match]
---#}}
- name: {json.dumps("part" + HOSTILE)}
  role: user
  content: {{{{ text | tojson }}}}
"""
SETTINGS = f"""\
[models."office{IN_TOML}"]
provider = "openai"
model = "small{IN_TOML}"
base_url = "URL"
[models.office]
provider = "openai"
model = "small"
base_url = "URL"
"""


Shown: TypeAlias = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        server.reply = lambda _body: Reply(f"answer {HOSTILE}")
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Path:
    """Return a folder in which everything is hostile, with two finished runs."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [{"id": f"{index}{HOSTILE}", "text": f"text {HOSTILE}", "expected": HOSTILE} for index in range(3)]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (folder / "promptls.toml").write_text(SETTINGS.replace("URL", server.url), "utf-8")
    (folder / "ask.yml.j2").write_text(PROMPT.replace("MODEL", "echo"), "utf-8")
    (folder / "other.yml.j2").write_text(PROMPT.replace("MODEL", "office"), "utf-8")
    (folder / NAME).write_text(
        f"- name: a\n  role: {HOSTILE[:5]!r}\n  content: {{{{ {'x' * 3} | nofilter }}}}\n", "utf-8"
    )
    (folder / "fails.yml.j2").write_text(
        f"{{#---\nexamples:\n- input: {{value: {json.dumps(HOSTILE)}}}\n---#}}\n"
        "- name: a\n  role: user\n  content: {{ value.missing() }}{% if %}\n",
        "utf-8",
    )
    (folder / "messages.json").write_text(json.dumps([{"role": "user", "content": HOSTILE}]), "utf-8")
    for prompt in ("ask.yml.j2", "other.yml.j2"):
        code, output = piped(["run", prompt, "--yes"], folder)
        assert code == 0, output
        assert_clean(output)
    return folder


def assert_clean(output: str, *own: re.Pattern[str]) -> None:
    """Fail if the output contains escape sequences other than our own."""
    for pattern in own:
        output = pattern.sub("", output)
    output = output.replace("\r\n", "\n")
    found = FORBIDDEN.search(output)
    assert found is None, repr(output[max(0, found.start() - 100) : found.end() + 100])
    assert not any(line.lstrip().startswith("::warning::OWNED") for line in output.splitlines())


COMMANDS = [
    "check",
    "check --verbose",
    "check --format json",
    "check --format sarif",
    "check --format github",
    "check --format junit",
    "check --baseline known.json",
    "render ask.yml.j2",
    "render ask.yml.j2 --json",
    "render ask.yml.j2 --messages",
    "render ask.yml.j2 --limit 5",
    "render fails.yml.j2",
    "tokens",
    "tokens --json",
    "contract ask.yml.j2",
    "contract ask.yml.j2 --json",
    "classes ask.yml.j2",
    "classes ask.yml.j2 --json",
    "compare ask.yml.j2 other.yml.j2",
    "compare ask.yml.j2 other.yml.j2 --json",
    "history",
    "history --json",
    "models",
    "models --json",
    "models --try office",
    "doctor",
    "doctor --json",
    "format --check",
    "run other.yml.j2 --dry-run",
    "run other.yml.j2 --fresh --json",
    "run other.yml.j2 --fresh --yes",
    "report ask.yml.j2 -o report.html",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_writes_to_a_pipe_is_clean(folder: Path, command: str) -> None:
    _, output = piped(command.split(), folder)
    assert "Traceback" not in output
    assert_clean(output)


FOR_PEOPLE = [each for each in COMMANDS if "--json" not in each and "--format " not in each]


@pytest.mark.parametrize("command", [*FOR_PEOPLE, "render ask.yml.j2 --string", "convert messages.json"])
def test_what_a_command_writes_to_a_terminal_is_clean(folder: Path, command: str) -> None:
    _, output = on_terminal(command.split(), folder)
    assert "Traceback" not in output
    if command.startswith("run"):
        assert "\x1b[38;5;196m" not in output
        assert "\x1b[2J" not in output
        output = LIVE.sub("", output.replace("\r\n", "\n"))
    assert_clean(output, OWN)


@pytest.mark.parametrize("show", [piped, on_terminal])
def test_the_error_of_a_provider_is_clean(folder: Path, server: ModelServer, show: Shown) -> None:
    server.reply = lambda _body: Reply(
        status=400, raw=json.dumps({"error": {"message": HOSTILE, "type": HOSTILE}}).encode()
    )
    try:
        for command in ("models --try office", "run other.yml.j2 --fresh --yes"):
            code, output = show(command.split(), folder)
            assert code == 1
            assert r"\x1b]0;OWNED" in output
            assert_clean(LIVE.sub("", output.replace("\r\n", "\n")))
    finally:
        server.reply = lambda _body: Reply(f"answer {HOSTILE}")


def test_an_answer_is_shown_with_visible_escapes(folder: Path) -> None:
    _, output = piped(["run", "other.yml.j2", "--yes"], folder)
    assert r"answer \x1b]0;OWNED\x07\x1b[2J" in output


def test_a_file_name_stays_on_one_line(folder: Path) -> None:
    _, output = piped(["check"], folder)
    assert r"bad\n::warning::OWNED\n\x1b]0;OWNED\x07\u202e.yml.j2:" in output


def test_colors_of_our_own_reach_a_terminal(folder: Path) -> None:
    _, output = on_terminal(["check"], folder)
    assert OWN.search(output)


@pytest.mark.parametrize("command", ["check", "check --format github", "doctor", "run ask.yml.j2"])
@pytest.mark.parametrize("show", [piped, on_terminal])
def test_a_mistake_in_the_settings_is_clean(tmp_path: Path, show: Shown, command: str) -> None:
    (tmp_path / "ask.yml.j2").write_text(PROMPT.replace("MODEL", "echo"), "utf-8")
    (tmp_path / "promptls.toml").write_text(f'"unknown{IN_TOML}" = 1\n', "utf-8")
    _, output = show(command.split(), tmp_path)
    assert r"unknown\x1b]0;OWNED" in output
    assert_clean(output, OWN)


def test_a_message_about_the_command_line_is_clean(folder: Path) -> None:
    for command in (
        [HOSTILE],
        ["check", f"--{HOSTILE}"],
        ["render", HOSTILE],
        ["run", "ask.yml.j2", "--model", HOSTILE],
    ):
        code, output = piped(command, folder)
        assert code in {1, 2}
        assert_clean(output)


def test_escaping_does_not_change_json_values(folder: Path) -> None:
    _, output = piped(["render", "ask.yml.j2", "--json"], folder)
    [part] = json.loads(output)["parts"]
    assert "\x9b31m\u202e\u2066\x7f" in part["content"]


def test_a_document_in_a_pipe_is_unchanged(folder: Path) -> None:
    _, output = piped(["render", "ask.yml.j2", "--string"], folder)
    assert "\x9b31m\u202e\u2066\x7f" in output


def test_what_is_printed_during_a_run_is_clean(folder: Path) -> None:
    (folder / "metric.py").write_text(
        "from promptls import numeric_metric\n\n@numeric_metric(name='loud')\n"
        "def loud(response):\n    print('printed [red]', response)\n    return 1\n",
        "utf-8",
    )
    (folder / "loud.yml.j2").write_text(
        PROMPT.replace("MODEL", "echo").replace("exact_match", "metric.py:loud"), "utf-8"
    )
    _, output = on_terminal(["run", "loud.yml.j2", "--yes"], folder)
    assert r"printed [red] text \x1b]0;OWNED" in re.sub(r"\s+", " ", LIVE.sub("", output))
    assert_clean(LIVE.sub("", output.replace("\r\n", "\n")))
