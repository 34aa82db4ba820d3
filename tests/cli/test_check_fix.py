from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptls.cli.main import main
from promptls.ide.code_actions import edited_text
from promptls.lint.rule import Edit
from promptls.text.positions import Span

pytestmark = pytest.mark.usefixtures("folder")

SOUND = "- name: question\n  role: user\n  content: Hello.\n"
WRONG_ROLE = "- name: question\n  role: usr\n  content: Hello.\n"
WRONG_TWICE = "- name: a\n  rolle: usr\n  content: {{ 'x' | uper }}\n"
FIXED_TWICE = "- name: a\n  role: user\n  content: {{ 'x' | upper }}\n"


class Shown(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> Shown:
        code = main(["check", "--no-render", *words])
        return Shown(code, *capsys.readouterr())

    return run


def test_fixes_are_applied_until_none_is_left(folder: Path, check: Any) -> None:
    # The role can be read, and found wrong, only once its key is right.
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    assert check("--fix") == (0, "No findings in 1 prompt.\n", "3 fixes in 1 file.\n")
    assert (folder / "a.yml.j2").read_text() == FIXED_TWICE


def test_what_cannot_be_fixed_is_reported_of_the_fixed_text(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  rolle: user\n  content: x\n  foo_bar_baz: 1\n" + SOUND)
    shown = check("--fix")
    assert shown.code == 1
    assert "foo_bar_baz" in shown.out
    assert "rolle" not in shown.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- name: a\n  content: {{ text }}\n", "promptls: 1 finding has a fix that `--fix` does not apply"),
        (WRONG_TWICE, ""),
    ],
)
def test_fixes_that_are_a_choice_are_counted(folder: Path, check: Any, text: str, expected: str) -> None:
    (folder / "a.yml.j2").write_text(text)
    shown = check("--fix")
    assert ("does not apply" in shown.err) == bool(expected)
    assert expected in shown.err


@pytest.mark.parametrize("words", [("--ignore", "unknown-role"), ("--select", "unused-input")])
def test_only_chosen_rules_are_fixed(folder: Path, check: Any, words: tuple[str, str]) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    assert check("--fix", *words).code == 0
    assert (folder / "a.yml.j2").read_text() == WRONG_ROLE


def test_line_ends_and_permissions_stay(folder: Path, check: Any) -> None:
    path = folder / "a.yml.j2"
    path.write_bytes("- name: q\r\n  role: usr\r\n  content: ä".encode())
    path.chmod(0o640)
    check("--fix")
    assert path.read_bytes() == "- name: q\r\n  role: user\r\n  content: ä".encode()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_byte_order_mark_moves_no_fix(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text("\ufeff" + WRONG_ROLE, "utf-8")
    assert check("--fix").code == 0
    assert (folder / "a.yml.j2").read_text("utf-8") == "\ufeff" + SOUND


def test_a_read_only_file_is_left_as_it_is(folder: Path, check: Any) -> None:
    path = folder / "a.yml.j2"
    path.write_text(WRONG_ROLE)
    path.chmod(0o444)

    shown = check("--fix")

    assert path.read_text() == WRONG_ROLE
    assert shown.code == 1
    assert "the file is read-only" in shown.err


def test_a_file_with_two_names_keeps_both(folder: Path, check: Any) -> None:
    path, other = folder / "a.yml.j2", folder / "other.txt"
    path.write_text(WRONG_ROLE)
    other.hardlink_to(path)

    check("--fix")

    assert path.read_text() == other.read_text() != WRONG_ROLE


def test_what_a_killed_command_has_left_behind_is_removed(folder: Path, check: Any) -> None:
    path, left, new = folder / "a.yml.j2", folder / ".a.yml.j2-abcdefgh", folder / ".a.yml.j2-12345678"
    path.write_text(WRONG_ROLE)
    left.write_text("")
    new.write_text("")
    os.utime(left, (0, 0))

    check("--fix")

    assert (left.exists(), new.exists()) == (False, True)


def test_a_symbolic_link_still_leads_to_the_fixed_file(folder: Path, check: Any) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "a.yml.j2").symlink_to("real/a.yml.j2")
    assert check("--fix", "a.yml.j2").code == 0
    assert (folder / "a.yml.j2").is_symlink()
    assert (folder / "real" / "a.yml.j2").read_text() == SOUND


def test_a_sound_file_is_not_written(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    os.utime(folder / "a.yml.j2", ns=(1, 1))
    assert check("--fix").err == ""
    assert (folder / "a.yml.j2").stat().st_mtime_ns == 1


def test_a_file_that_is_not_utf8_is_skipped_and_reported(folder: Path, check: Any) -> None:
    damaged = WRONG_ROLE.encode().replace(b"Hello", b"\xffHello")
    (folder / "a.yml.j2").write_bytes(damaged)
    shown = check("--fix")
    assert shown.code == 1
    assert "not written" in shown.err
    assert "unknown-role" in shown.out
    assert (folder / "a.yml.j2").read_bytes() == damaged


def test_the_diff_can_be_applied_and_nothing_is_written(folder: Path, check: Any) -> None:
    path = folder / "a b.yml.j2"
    for text in (WRONG_TWICE, WRONG_ROLE.replace("\n", "\r\n"), WRONG_ROLE.rstrip("\n")):
        path.write_bytes(text.encode())
        shown = check("--fix", "--diff")
        assert shown.code == 1
        assert path.read_bytes() == text.encode()
        subprocess.run(["git", "apply", "-"], input=shown.out.encode(), cwd=folder, check=True)
        assert check("--fix", "--diff") == (0, "", "")


def test_diff_alone_is_wrong_use(check: Any) -> None:
    shown = check("--diff")
    assert shown.code == 2
    assert "`--fix --diff`" in shown.err


def stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_standard_input_is_checked_under_the_name_that_is_given(
    folder: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, WRONG_ROLE)
    shown = check("--stdin-filename", "new.yml.j2")
    assert shown.code == 1
    assert shown.out.startswith("new.yml.j2:2:9: warning unknown-role")


def test_standard_input_counts_in_the_place_of_the_file(
    folder: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    stdin(monkeypatch, SOUND)
    assert check("--stdin-filename", "a.yml.j2", "-").code == 0


def test_standard_input_finds_settings_and_includes_by_its_name(
    folder: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "promptls.toml").write_text('[rules]\nunknown-role = "off"\n')
    (folder / "p" / "s.yml.j2").write_text(SOUND)
    stdin(monkeypatch, "{% include 's.yml.j2' %}\n" + WRONG_ROLE)
    assert check("--stdin-filename", "p/a.yml.j2").code == 0


def test_fixed_standard_input_is_printed_and_the_report_goes_to_the_error_stream(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(monkeypatch, WRONG_ROLE.replace("\n", "\r\n"))
    assert main(["check", "--fix", "--stdin-filename", "a.yml.j2"]) == 0
    out, err = capsysbinary.readouterr()
    assert out == SOUND.replace("\n", "\r\n").encode()
    assert b"No findings in 1 prompt." in err
    assert not (folder / "a.yml.j2").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-",), "`--stdin-filename FILE` names it"),
        (("--stdin-filename", "a.yml.j2", "b.yml.j2"), "paths were given too"),
        (("--stdin-filename", "."), "not the name of a file"),
    ],
)
def test_standard_input_without_its_one_name_is_wrong_use(
    check: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    stdin(monkeypatch, SOUND)
    shown = check(*words)
    assert shown.code == 2
    assert message in shown.err


def test_brought_line_ends_are_those_of_the_text() -> None:
    edit = Edit(Span(3, 3), "x\n")
    assert edited_text("a\r\nb\r\n", [edit]) == "a\r\nx\r\nb\r\n"
    assert edited_text("a\n\nb\n", [edit]) == "a\n\nx\nb\n"
