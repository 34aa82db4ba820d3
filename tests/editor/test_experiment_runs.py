"""An experiment in a real VS Code: run by its lens with the embedded model, shown, cancelled."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from code_server import CodeServer
from example_project import PROMPT, ROWS
from playwright.sync_api import expect
from workbench import Workbench

RUN_PATIENCE = 240_000
"""The timeout in milliseconds for a few rows of the embedded model, on a busy machine."""

OpenFolder = Callable[[CodeServer, Path], Workbench]


@pytest.mark.model
def test_an_experiment_runs_from_its_lens_and_shows_its_scores(
    code_server: CodeServer, project: Path, open_folder: OpenFolder
) -> None:
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    workbench.panel("answer format")
    workbench.click_lens("Run triage")
    expect(workbench.notification("rows").get_by_role("button", name="Cancel")).to_be_visible()
    workbench.screenshot("running")
    results = workbench.panel("labels_exact_match", patience=RUN_PATIENCE)
    expect(results.get_by_label("Scores")).to_contain_text(re.compile(r"priority_accuracy\s*\d+"))
    expect(workbench.lens(re.compile(r"labels_exact_match \d"))).to_be_visible()
    # Over the preview, and not in a third column.
    expect(workbench.page.locator(".editor-group-container")).to_have_count(2)
    results.get_by_role("tab", name="Rows").click()
    grid = results.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", str(ROWS + 1))
    grid.press("Enter")
    details = results.get_by_role("complementary", name="Details of the row")
    expect(details).to_contain_text("labels_exact_match")
    details.get_by_text("Messages as sent").click()
    expect(details.locator(".message").first).to_contain_text("system")
    details.get_by_role("button", name="Bad answer").click()
    expect(grid.get_by_role("img", name="thumb down")).to_be_visible()
    workbench.screenshot("results")
    assert list((project / "experiments").glob("*.notes.json"))
    results.get_by_label("Search rows").fill("no row holds this text")
    expect(grid).to_have_attribute("aria-rowcount", "1")


@pytest.mark.model
def test_a_run_that_is_cancelled_keeps_its_finished_rows_and_is_resumed_in_the_view_of_prompts(
    code_server: CodeServer, project: Path, open_folder: OpenFolder
) -> None:
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    workbench.click_lens("Run triage")
    running = workbench.notification(re.compile(rf"[1-{ROWS - 1}] of {ROWS} rows"))
    running.get_by_role("button", name="Cancel").click(timeout=RUN_PATIENCE)
    expect(workbench.notification("The run was cancelled after")).to_be_visible()
    workbench.page.get_by_role("tab", name="promptls").click()
    tree = workbench.page.get_by_role("tree", name="Prompts")
    tree.get_by_role("treeitem").filter(has_text=re.compile("^triage$")).last.click()
    stopped = tree.get_by_role("treeitem").filter(has_text="stopped")
    stopped.hover()
    workbench.screenshot("stopped")
    stopped.get_by_role("button", name="Resume Run").click()
    workbench.panel("labels_exact_match", patience=RUN_PATIENCE)
    expect(stopped).to_have_count(0)


def test_a_button_runs_the_rows_that_a_partial_run_left_out(
    code_server: CodeServer, project: Path, open_folder: OpenFolder
) -> None:
    command = [sys.executable, "-m", "promptls", "run", PROMPT, "--model", "echo", "--rows", "2", "--trust"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.run_command("promptls: Show Results")
    results = workbench.panel("labels_exact_match")
    expect(results.get_by_label("Scores")).to_contain_text("2 scored")
    results.get_by_role("button", name="Run the other rows").click()
    expect(results.get_by_label("Scores").first).to_contain_text(f"{ROWS} scored")
    expect(results.get_by_role("button", name="Run the other rows")).to_have_count(0)


def test_lists_of_the_results_are_inside_of_a_narrow_panel_and_a_prompt_without_runs_has_no_results(
    code_server: CodeServer, project: Path, open_folder: OpenFolder
) -> None:
    command = [sys.executable, "-m", "promptls", "run", PROMPT, "--model", "echo", "--trust", "--fresh"]
    for _ in range(2):
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.run_command("promptls: Show Results")
    results = workbench.panel("labels_exact_match")
    results.get_by_role("tab", name="Rows").click()
    for button in ("#run", "#columns"):
        results.locator(button).click()
        popup = results.locator(".popup")
        expect(popup.get_by_role("option").first).to_be_visible()
        left, right = popup.evaluate(
            "popup => [popup.getBoundingClientRect().left, innerWidth - popup.getBoundingClientRect().right]"
        )
        assert min(left, right) >= 0
        assert results.evaluate("document.scrollingElement.scrollLeft") == 0
        workbench.screenshot(button[1:])
        workbench.page.keyboard.press("Escape")
    workbench.open_file("support_chat.yml.j2")
    workbench.run_command("promptls: Show Results")
    expect(results.get_by_text("support_chat.yml.j2 has not been run yet.")).to_be_visible()


STORY = """\
- name: story
  role: user
  content: Tell me a very long story about a lighthouse, with many chapters.
"""


@pytest.mark.model
def test_what_had_arrived_of_an_answer_comes_back_after_a_reload(
    code_server: CodeServer, tmp_path: Path, open_folder: OpenFolder
) -> None:
    (tmp_path / "story.yml.j2").write_text(STORY, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("story.yml.j2")
    workbench.click_lens("Preview")
    preview = workbench.panel("lighthouse")
    preview.locator("#ask").click()
    expect(preview.locator(".answer pre")).to_have_text(re.compile(r"\w+( \w+){3}"), timeout=RUN_PATIENCE)
    with workbench.page.expect_navigation():
        workbench.run_command("Developer: Reload Window")
    preview = workbench.panel("The answer was interrupted")
    expect(preview.locator(".answer pre")).to_have_text(re.compile(r"\w+ \w+"))
    workbench.screenshot("interrupted")
    preview.get_by_role("button", name="Ask again").click()
    expect(preview.locator("#stop")).to_be_visible()
    expect(preview.get_by_role("alert")).to_have_count(0)
