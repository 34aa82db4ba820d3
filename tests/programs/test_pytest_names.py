"""Findings about tests that use the fixture of the pytest plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.programs.findings import findings_of_python
from promptls.workspace.workspace import Workspace

PROMPT = """{#---
input_keys: [text]
experiments:
  triage:
    dataset: tickets.csv
    metrics: [exact_match, latency]
  other:
    dataset: tickets.csv
    metrics: [bleu]
---#}
- name: ticket
  content: "{{ escape_special_characters(text) }}"
"""
TEST = """def test_triage(promptls):
    run = promptls.run("main.yml.j2", "triage")
    run.check("exact_match", 0.7)
    assert run.score("latency") < 5
    others = promptls.run("main.yml.j2", experiment="other")
    others.check("bleu", 0.2)
    first = promptls.run("main.yml.j2")
    first.check("exact_match", 0.5)
"""


def found(folder: Path, text: str) -> list[str]:
    (folder / "main.yml.j2").write_text(PROMPT, "utf-8")
    (folder / "tickets.csv").write_text("text,expected\n", "utf-8")
    (folder / "promptls.toml").write_text('[experiments.shared]\ndataset = "tickets.csv"\n', "utf-8")
    test = folder / "tests" / "test_main.py"
    test.parent.mkdir(exist_ok=True)
    test.write_text(text, "utf-8")
    findings = findings_of_python(Workspace().snapshot, str(test)).findings
    return [text[each.span.start : each.span.end] for each in findings]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"triage"', '"traige"', '"traige"'),
        ('"triage"', '"shard"', '"shard"'),
        ('check("exact_match", 0.7)', 'check("exact_mach", 0.7)', '"exact_mach"'),
        ('check("exact_match", 0.7)', 'check("exact_match", 70)', '"exact_match"'),
        ('"bleu"', '"exact_match"', '"exact_match"'),
        ('first.check("exact_match"', 'first.check("bleu"', '"bleu"'),
    ],
)
def test_a_name_that_a_run_does_not_have_is_found(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert found(tmp_path, TEST) == []
    assert found(tmp_path, TEST.replace(old, new, 1)) == [place]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"triage"', '"function_of_a_program"'),
        ('"triage"', '"shared"'),
        ("test_triage(promptls)", "test_triage(other)"),
        ('"bleu", 0.2', "metric, 0.2"),
        ('"main.yml.j2", "triage"', "prompt, name"),
    ],
)
def test_a_name_that_may_be_right_is_left_alone(tmp_path: Path, old: str, new: str) -> None:
    assert found(tmp_path, TEST.replace(old, new, 1)) == []
