"""Experiments as tests in the Test Explorer of a real VS Code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from playwright.sync_api import Locator, expect
from workbench import Workbench

PROMPT = """\
{#---
input_keys: [text]
output_key: answer
examples:
  - {text: Say yes., answer: Say yes.}
experiments:
  echoes: {dataset: rows.csv, models: [echo], metrics: [exact_match]}
---#}
- name: question
  role: user
  content: |
    {{ escape_special_characters(text) }}
"""
ROWS = 'id,text,answer\nsame,one,one\nother,"two\nlines",something else\nlast,three,three\n'


def test_rows_and_examples_run_in_the_test_explorer_and_failing_ones_say_why(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "ask.yml.j2").write_text(PROMPT, "utf-8")
    (tmp_path / "rows.csv").write_text(ROWS, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("ask.yml.j2")
    expect(workbench.lens("Run echoes")).to_be_visible()
    # The example has a button in the editor before anybody has looked at the tests.
    expect(workbench.page.locator(".glyph-margin-widgets [class*=testing-run]")).to_have_count(1)

    workbench.run_command("Testing: Focus on Test Explorer View")
    expect(row_of(workbench, "ask.yml.j2")).to_be_visible()
    workbench.run_command("Test: Run All Tests")
    expect(row_of(workbench, r"ask\.yml\.j2 .*\(Failed\)")).to_be_visible()
    unfold(row_of(workbench, "ask.yml.j2"))
    unfold(row_of(workbench, "echoes"))
    expect(row_of(workbench, r"other: two lines.*\(Failed\)")).to_be_visible()
    expect(row_of(workbench, r"same: one.*\(Passed\)")).to_be_visible()
    workbench.open_file("rows.csv")
    said = workbench.page.locator(".monaco-editor").get_by_text(re.compile(r"exact_match\s+says"))
    expect(said.first).to_be_visible()
    workbench.screenshot("row")

    example = row_of(workbench, r"example 1: Say yes")
    expect(example).to_have_attribute("aria-label", re.compile("Not yet run"))
    example.hover()
    example.get_by_role("button", name="Run Test").click()
    expect(example).to_have_attribute("aria-label", re.compile("Passed"))
    expect(workbench.problem("exact_match says `fail`")).to_be_visible()
    workbench.screenshot("example")


def unfold(row: Locator) -> None:
    """Expand a row of the tree if it is collapsed."""
    if row.get_attribute("aria-expanded") != "true":
        row.locator(".monaco-tl-twistie").click()


def row_of(workbench: Workbench, label: str) -> Locator:
    """Return the test in the tree whose label, with its state, begins with a pattern."""
    rows = workbench.page.locator(".test-explorer .monaco-list-row")
    return rows.and_(workbench.page.get_by_label(re.compile(f"^{label}")))
