"""How a new user measures a prompt and finds out whether a second version is better, in a real VS Code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

RUN_PATIENCE = 240_000
"""The timeout in milliseconds for a few rows of the embedded model, on a busy machine."""


@pytest.mark.model
def test_from_an_empty_folder_to_whether_version_2_is_better(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, tmp_path)
    workbench.run_command("promptls: New Prompt")
    workbench.choose("Prompt With an Experiment")
    workbench.answer("The name of the prompt", "quiz")
    expect(workbench.lens("Run answers")).to_be_visible()
    expect(workbench.problems()).to_have_count(0)
    workbench.screenshot("begun")

    # A row of one's own, which no model can know.
    workbench.open_file("quiz.csv")
    workbench.go_to(5)
    workbench.type("4,What is the name of the cat next door?,Nebukadnezar\n")
    workbench.page.keyboard.press("Control+S")
    workbench.open_file("quiz.yml.j2")
    workbench.click_lens("Run answers")
    results = workbench.panel("string_presence", patience=RUN_PATIENCE)
    expect(results.get_by_label("Scores")).to_contain_text(re.compile(r"string_presence\s*\d+"))
    expect(workbench.lens(re.compile(r"string_presence \d+ %"))).to_be_visible()
    workbench.screenshot("first run")

    # What went wrong stands in the dataset, at the row.
    workbench.open_file("quiz.csv")
    expect(workbench.problem("in the last run of `answers`").first).to_be_visible()
    expect(workbench.page.locator(".squiggly-info").first).to_be_visible()
    workbench.screenshot("failing rows")

    workbench.open_file("quiz.yml.j2")
    lines = (tmp_path / "quiz.yml.j2").read_text("utf-8").splitlines()
    task = next(number for number, line in enumerate(lines, 1) if "Answer the question" in line)
    workbench.go_to(task, 5)
    workbench.type("You know a lot. ")
    workbench.go_to(1)
    expect(workbench.lens("stale")).to_be_visible()
    workbench.click_lens("Run answers")
    expect(workbench.lens(re.compile(r"string_presence \d+ % \([±+\u2212-]"))).to_be_visible(
        timeout=RUN_PATIENCE
    )
    workbench.screenshot("second run")

    results.get_by_role("tab", name="Compare").click()
    verdict = results.locator(".comparison, main").get_by_text(re.compile(r"^(better|worse|inconclusive)$"))
    expect(verdict.first).to_be_visible()
    workbench.screenshot("comparison")
