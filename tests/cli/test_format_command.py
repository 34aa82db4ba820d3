from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptls.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")

LOOSE = "- name:  a\n  content: {{x|trim}}\n"
LAID_OUT = "- name: a\n  content: {{ x | trim }}\n"
BROKEN = "- name:  a\n  content: {{x\n"
ANSIBLE = "- hosts:   all\n  tasks: []\n"


def test_prompts_are_laid_out_and_other_files_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(LOOSE)
    (folder / "b.yml.j2").write_text(LAID_OUT)
    (folder / "site.yml.j2").write_text(ANSIBLE)

    assert main(["format"]) == 0
    assert main(["format", "--check"]) == 0

    assert (folder / "a.yml.j2").read_text() == LAID_OUT
    assert (folder / "site.yml.j2").read_text() == ANSIBLE
    first = "formatted a.yml.j2\n1 prompt changed, 1 prompt already formatted (1 other file left alone).\n"
    assert capsys.readouterr().out.startswith(first)


def test_a_file_with_errors_is_named_and_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(LOOSE)
    (folder / "b.yml.j2").write_text(BROKEN)

    assert main(["format"]) == 1

    assert (folder / "a.yml.j2").read_text() == LAID_OUT
    assert (folder / "b.yml.j2").read_text() == BROKEN
    shown = capsys.readouterr()
    assert "not changed: expected `}}`" in shown.err
    assert "at b.yml.j2:2:12" in shown.err


def test_in_a_text_that_a_content_includes_only_the_tags_are_laid_out(folder: Path) -> None:
    include = "{% filter indent(4) %}{% include 's.yml.j2' %}{% endfilter %}"
    (folder / "a.yml.j2").write_text(f"- name: a\n  content: |\n    {include}\n")
    (folder / "s.yml.j2").write_text("Rules:  be: kind\n-   {{x}}\n")

    assert main(["format"]) == 0

    assert (folder / "s.yml.j2").read_text() == "Rules:  be: kind\n-   {{ x }}\n"


def test_a_read_only_file_is_left_and_a_second_name_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text("- name:  a\n  content: b\n")
    (folder / "a.yml.j2").chmod(0o444)
    (folder / "b.yml.j2").write_text("- name:  b\n  content: b\n")
    (folder / "c.yml.j2").hardlink_to(folder / "b.yml.j2")

    assert main(["format", "a.yml.j2", "b.yml.j2"]) == 1

    assert "not changed: the file is read-only\n" in capsys.readouterr().err
    assert (folder / "a.yml.j2").read_text() == "- name:  a\n  content: b\n"
    assert (folder / "c.yml.j2").read_text() == "- name: b\n  content: b\n"


def test_a_file_that_is_no_utf_8_is_named_and_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_bytes(LOOSE.encode() + b"# \xff\n")

    assert main(["format"]) == 1

    assert (folder / "a.yml.j2").read_bytes() == LOOSE.encode() + b"# \xff\n"
    assert "not UTF-8" in capsys.readouterr().err


def test_check_names_what_would_change_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(LOOSE)

    assert main(["format", "--check"]) == 1

    assert (folder / "a.yml.j2").read_text() == LOOSE
    assert capsys.readouterr().out == "would format a.yml.j2\n1 prompt would change.\n"


def test_diff_is_one_that_patch_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(LOOSE)

    assert main(["format", "--diff"]) == 1

    assert (folder / "a.yml.j2").read_text() == LOOSE
    assert capsys.readouterr().out == (
        "--- a/a.yml.j2\n+++ b/a.yml.j2\n@@ -1,2 +1,2 @@\n"
        "-- name:  a\n-  content: {{x|trim}}\n+- name: a\n+  content: {{ x | trim }}\n"
    )


def test_line_ends_stay(folder: Path) -> None:
    (folder / "a.yml.j2").write_bytes(LOOSE.replace("\n", "\r\n").encode())

    main(["format"])

    assert (folder / "a.yml.j2").read_bytes() == LAID_OUT.replace("\n", "\r\n").encode()


def test_json_says_what_became_of_each_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(LOOSE)

    main(["format", "--json"])

    files = json.loads(capsys.readouterr().out)["files"]
    assert files == [{"path": "a.yml.j2", "outcome": "formatted", "reason": None}]


@pytest.mark.parametrize(
    ("text", "out", "code"), [(LOOSE, LAID_OUT, 0), (BROKEN, BROKEN, 1), (ANSIBLE, ANSIBLE, 0), ("", "", 0)]
)
def test_the_standard_input_goes_to_the_standard_output(text: str, out: str, code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "promptls", "format", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )

    assert (ran.stdout.decode(), ran.returncode) == (out, code)


def test_the_standard_input_can_be_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOOSE.encode())))

    assert main(["format", "-", "--check"]) == 1
    assert capsys.readouterr().out == ""


def test_the_standard_input_stands_alone() -> None:
    assert main(["format", "-", "a.yml.j2"]) == 2


def test_the_example_project_is_laid_out() -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"

    assert main(["format", "--check", str(examples)]) == 0
