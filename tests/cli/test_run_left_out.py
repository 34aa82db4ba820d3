from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main
from support.experiment_folder import Folder

EXAMPLES = '---#}\n{% set examples = ["one", "a longer one"] %}\n{% for example in examples %}\n'
SHOWN = '- name: shown {{ loop.index }}\n  content: "{{ example }}"\n{% endfor %}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    made = Folder(tmp_path).write()
    made.prompt.write_text(made.prompt.read_text("utf-8").replace("---#}\n", EXAMPLES + SHOWN), "utf-8")
    return made


def test_each_example_is_a_line_with_its_verdict(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", folder.prompt.name, "--leave-one-out"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ask.yml.j2: experiment `main` without each of 2 examples"
    (example,) = [line for line in lines if line.startswith("2: a longer one")]
    assert "4 of 4" in example
    assert example.endswith("inconclusive")
    assert any("example 2 costs" in line and "right is the same" in line for line in lines)


def test_programs_get_the_report(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", folder.prompt.name, "--leave-one-out", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    assert report["prompt"] == "../ask.yml.j2"
    assert [example["label"] for example in report["examples"]] == ["one", "a longer one"]


def test_a_dry_run_asks_no_model(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", folder.prompt.name, "--leave-one-out", "--dry-run"]) == 0

    assert "4 rows: 12 calls" in capsys.readouterr().out
    assert not (folder.results / "leave_one_out").exists()


def test_a_run_has_no_examples_to_leave_out(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--resume", "20260101-000000-ask", "--leave-one-out"]) == 2
    assert "needs a prompt, not a run" in capsys.readouterr().err
