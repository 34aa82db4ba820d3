from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.main import main
from support.finished_run import write_run

PROMPT = (
    "{#---\ninput_keys: [text]\n"
    "experiments:\n  triage: {dataset: rows.csv, models: [echo], metrics: [exact_match]}\n---#}\n"
    "- name: ticket\n  role: user\n  content: |\n    {{ escape_special_characters(text) }}\n"
)
TABLE = """\
text,expected,response,exact_match,error,row_number
Hello,Shipping,Shipping,pass,,1
Bye,Billing,,,lost,2
"""
RUN = "20260101-000000-a"
FOUND = f"4:3: information failing-row: 1 of 2 rows failed in the last run, `{RUN}`"


@pytest.fixture(autouse=True)
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text,expected\nHello,Shipping\nBye,Billing\n")
    path = tmp_path / "a.yml.j2"
    write_run(path, PROMPT, TABLE, experiment="triage", dataset=tmp_path / "rows.csv", name=RUN)
    return path


def test_what_failed_in_the_last_run_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert f"a.yml.j2:{FOUND}" in capsys.readouterr().out


def test_a_run_of_another_text_says_nothing(prompt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.write_text(PROMPT.replace("role: user", "role: system"))

    main(["check"])

    assert "failing-row" not in capsys.readouterr().out


def test_what_was_not_asked_for_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--ignore", "failing-row"])
    assert capsys.readouterr().out == "No findings in 1 prompt.\n"
