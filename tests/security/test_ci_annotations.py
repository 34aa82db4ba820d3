"""No file, answer or message can give commands to the runner of a CI job."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.cli.safe_stream import SafeStream, as_commands, style_text, write_document
from promptls.text.escape import annotation_message, annotation_property, for_json_output, without_commands
from support.terminals import piped

NAME = "bad\n::warning::OWNED\n  ::error file=x::OWNED\x1b]0;OWNED\x07,col=1.yml.j2"
PROMPT = """\
- name: a
  role: user
  content: {{ text | tojson }}
"""
SAMPLE = '{"text": "::add-mask::OWNED\\n  ::error::OWNED\\n##[group]OWNED ##vso[task.setvariable]OWNED"}'

texts = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "::",
                ":",
                "warning::x",
                "##[group]",
                "#",
                "##vso[x]",
                "\n",
                "\r",
                "\r\n",
                " ",
                "\t",
                "%",
                "\x1b",
            ]
        ),
        st.text(max_size=4),
    )
).map("".join)


def is_command(line: str) -> bool:
    """Return whether GitHub, Azure or TeamCity treats the line of a log as a command."""
    return line.lstrip().startswith("::") or re.search(r"##\w*\[", line) is not None


@given(texts)
def test_no_line_without_commands_is_one(text: str) -> None:
    assert not any(map(is_command, re.split(r"\r\n|\r|\n", without_commands(text.replace("\r", "")))))


@given(texts)
def test_an_annotation_is_always_one_line(text: str) -> None:
    line = f"::error title={annotation_property(text)}::{annotation_message(text)}"
    assert re.fullmatch(r"::error title=[^:,\n\r\x1b]*::[^\n\r\x1b]*", line)


@given(texts)
def test_json_keeps_its_value(text: str) -> None:
    import json

    written = for_json_output(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(written) == {"a": text}
    assert not is_command(written)


@given(st.lists(texts))
def test_no_line_of_a_job_log_is_a_command_for_any_chunking(pieces: list[str]) -> None:
    inside = io.StringIO(newline="")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GITHUB_ACTIONS", "true")
        stream = SafeStream(inside)
    for piece in pieces:
        stream.write(piece + " ")
    assert not any(map(is_command, re.split(r"\r\n|\r|\n", inside.getvalue())))


def test_commands_and_styles_of_our_own_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    inside = io.StringIO()
    stream = SafeStream(inside)
    stream.write(as_commands("::error::a\n::notice::b\n"))
    stream.write(style_text("x", "1"))
    assert inside.getvalue() == "::error::a\n::notice::b\n\x1b[1mx\x1b[0m"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")
@pytest.mark.parametrize("form", ["text", "github", "json", "sarif", "junit"])
@pytest.mark.parametrize("variable", ["GITHUB_ACTIONS", "NOTHING"])
def test_a_file_name_gives_no_command_in_any_report(tmp_path: Path, form: str, variable: str) -> None:
    (tmp_path / NAME.replace("/", "")).write_text("- name: a\n  role: usr\n  content: x\n", "utf-8")
    code, output = piped(["check", "--format", form], tmp_path, **{variable: "true"})
    assert code == 1
    assert "\x1b" not in output
    commands = [line for line in output.splitlines() if is_command(line)]
    if form == "github":
        assert [line.partition(" ")[0] for line in commands] == ["::warning"]
    else:
        assert commands == []


@pytest.mark.parametrize(
    "command", ["render a.yml.j2", "render a.yml.j2 --json", "render a.yml.j2 --messages"]
)
def test_data_gives_no_command_in_a_job(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.yml.j2").write_text(PROMPT, "utf-8")
    _, output = piped([*command.split(), "--data", SAMPLE], tmp_path, GITHUB_ACTIONS="true")
    assert "OWNED" in output
    assert not any(map(is_command, output.splitlines()))


@pytest.mark.parametrize("command", ["render a.yml.j2 --string", "format --diff"])
def test_a_document_gives_no_command_in_a_job(tmp_path: Path, command: str) -> None:
    content = "|\n    ::add-mask::OWNED\n    ##[group]OWNED\n    {{a}}\n"
    (tmp_path / "a.yml.j2").write_text(f"- name: a\n  role: user\n  content: {content}", "utf-8")
    data = ["--data", '{"a": "b"}'] if command.startswith("render") else []

    _, output = piped([*command.split(), *data], tmp_path, GITHUB_ACTIONS="true")

    assert "OWNED" in output
    assert not any(map(is_command, output.splitlines()))


def test_a_document_in_a_file_is_unchanged_in_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with (tmp_path / "out").open("w") as stream:
        monkeypatch.setattr(sys, "stdout", SafeStream(stream))
        write_document("::error::a\n")

    assert (tmp_path / "out").read_text() == "::error::a\n"
