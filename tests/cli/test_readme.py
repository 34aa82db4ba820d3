from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from promptls.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
WRITING = (ROOT / "docs" / "writing.md").read_text("utf-8")

CHECKED_PROMPT = """\
{#---
input_keys: [text, tone]
---#}
- name: task
  role: system
  content: |
    Answer the customer in a {{ ton }} tone.
- name: ticket
  rolle: user
  content: |
    {% if text %}
    {{ escape_special_characters(text) }}
"""


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", WRITING, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    (folder / "prompts").mkdir()
    return folder


def test_the_findings_that_it_shows_are_what_the_command_prints(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "prompts" / "support.yml.j2").write_text(CHECKED_PROMPT)
    main(["check"])
    assert block("console") == f"$ promptls check\n{capsys.readouterr().out}"


def test_the_prompt_that_it_shows_has_no_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "prompts" / "shown.yml.j2").write_text(block("jinja"))
    (folder / "prompts" / "datasets").mkdir()
    (folder / "prompts" / "datasets" / "support_triage.csv").write_text("text,response\n")
    (folder / "prompts" / "metrics.py").write_text("def labels_exact_match(response): ...\n")
    main(["check"])
    assert capsys.readouterr().out == "No findings in 1 prompt.\n"


def test_the_example_that_it_names_has_no_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Runs that somebody has made of the example are no part of it.
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("experiments"))
    main(["check"])
    assert capsys.readouterr().out == "No findings in 6 prompts and 1 program.\n"


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_tasks_that_it_names_are_tasks_of_the_makefile() -> None:
    tasks = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)) <= set(tasks)
