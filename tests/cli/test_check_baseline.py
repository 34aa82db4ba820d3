from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")

SOUND = "- name: question\n  role: user\n  content: Hello.\n"
WRONG_ROLE = "- name: question\n  role: usr\n  content: Hello.\n"
WRONG_TWICE = "- name: a\n  role: usr\n  content: x\n- name: b\n  role: usr\n  content: x\n"
BASELINE = ("--baseline", "known.json")


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `promptls check`; return the exit code and the output, errors last."""

    def run(*words: str) -> tuple[int, str]:
        code = main(["check", "--no-render", *words])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return run


def written(check: Any, *words: str) -> None:
    code, _ = check(*BASELINE, "--write-baseline", *words)
    assert code == 0


def test_a_known_finding_is_not_reported(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    assert check(*BASELINE) == (0, "No findings besides 1 in the baseline in 1 prompt.\n")


@pytest.mark.parametrize(
    "after",
    [
        "{# above #}\n\n" + WRONG_ROLE,
        WRONG_ROLE.replace("  role", "  truncation_priority: 1\n  role"),
        WRONG_ROLE + "- name: more\n  role: user\n  content: x\n",
        WRONG_ROLE.replace("Hello", "Good morning"),
    ],
)
def test_a_known_finding_is_known_again_when_other_lines_change(folder: Path, check: Any, after: str) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    (folder / "a.yml.j2").write_text(after)
    assert check(*BASELINE)[0] == 0


def test_a_second_finding_like_a_known_one_is_reported(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    code, shown = check(*BASELINE)
    assert code == 1
    assert shown.endswith("1 warning besides 1 in the baseline in 1 prompt.\n")


def test_the_same_finding_in_another_file_is_reported(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    (folder / "b.yml.j2").write_text(WRONG_ROLE)
    assert check(*BASELINE)[0] == 1


def test_a_fixed_finding_is_reported_and_removed_from_the_baseline(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    (folder / "a.yml.j2").write_text(SOUND)
    code, shown = check(*BASELINE)
    assert code == 0
    assert (
        "Gone from known.json: 1 finding; `--write-baseline` removes them.\n  a.yml.j2: unknown-role" in shown
    )
    code, shown = check(*BASELINE, "--write-baseline")
    assert (code, shown) == (0, "0 findings in known.json: 0 new, 1 removed.\n")
    assert json.loads((folder / "known.json").read_text())["findings"] == []


def test_what_is_not_checked_is_not_gone_and_stays(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "b.yml.j2").write_text(WRONG_ROLE)
    written(check)
    before = (folder / "known.json").read_text()
    for words in (["a.yml.j2"], ["--select", "unused-input"]):
        assert "Gone" not in check(*BASELINE, *words)[1]
        written(check, *words)
        assert (folder / "known.json").read_text() == before


def test_findings_of_a_removed_file_are_cleared(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "b.yml.j2").write_text(SOUND)
    written(check)
    (folder / "a.yml.j2").unlink()
    assert "Gone" in check(*BASELINE, "b.yml.j2")[1]


def test_paths_count_from_the_folder_of_the_baseline(
    folder: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "a.yml.j2").write_text(WRONG_ROLE)
    written(check)
    (entry,) = json.loads((folder / "known.json").read_text())["findings"]
    assert entry["path"] == "p/a.yml.j2"
    monkeypatch.chdir(folder / "p")
    assert check("--baseline", "../known.json")[0] == 0


def test_a_baseline_written_twice_is_the_same(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    written(check)
    before = (folder / "known.json").read_text()
    written(check)
    assert (folder / "known.json").read_text() == before


def test_json_counts_known_findings_and_lists_fixed_ones(folder: Path, check: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    written(check)
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    baseline = json.loads(check(*BASELINE, "--json")[1])["baseline"]
    assert baseline["known"] == 1
    assert [entry["rule"] for entry in baseline["gone"]] == ["unknown-role"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such baseline"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"version": 1,', "known.json:1:"),
        (b"[]", "its version is null"),
        (b'{"version": 2, "findings": []}', "its version is 2"),
        (b'{"version": 1}', "no list `findings`"),
        (b'{"version": 1, "findings": [{"path": "a"}]}', "entry 1 of the baseline lacks one of `path`"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_wrong_use(
    folder: Path, check: Any, text: bytes | None, message: str
) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    if text is not None:
        (folder / "known.json").write_bytes(text)
    code, shown = check(*BASELINE)
    assert code == 2
    assert message in shown


def test_write_baseline_needs_the_name_of_one(check: Any) -> None:
    code, shown = check("--write-baseline")
    assert code == 2
    assert "--baseline promptls-baseline.json" in shown
