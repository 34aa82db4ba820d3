"""The view of the activity bar in a real VS Code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

NOT_PROMPTS = Path(__file__).resolve().parents[1] / "corpus" / "files" / "not_prompts"


def test_prompts_experiments_and_runs_are_listed_and_a_run_shows_its_results(
    workbench: Workbench, project: Path
) -> None:
    command = [sys.executable, "-m", "promptls", "run", "triage_v1.yml.j2", "--model", "echo", "--trust"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    # The extension starts a server once a prompt is shown.
    workbench.open_file("triage_v1.yml.j2")
    workbench.page.get_by_role("tab", name="promptls").click()
    tree = workbench.page.get_by_role("tree", name="Prompts")
    expect(tree.get_by_role("treeitem", name="triage_v1.yml.j2")).to_be_visible()
    expect(tree.get_by_role("treeitem", name="triage_v2.yml.j2")).to_be_visible()
    expect(tree.get_by_role("treeitem", name="labels.yml.j2")).to_have_count(0)
    tree.get_by_role("treeitem").filter(has_text=re.compile("^triage$")).first.click()
    run = tree.get_by_role("treeitem").filter(has_text="0 % labels_exact_match")
    expect(run).to_be_visible()
    workbench.screenshot("runs")
    run.click()
    workbench.panel("labels_exact_match")


def test_a_first_run_is_compared_with_the_other_prompt_over_the_same_data(
    workbench: Workbench, project: Path
) -> None:
    for prompt in ("triage_v2.yml.j2", "triage_v1.yml.j2"):
        command = [sys.executable, "-m", "promptls", "run", prompt, "--model", "echo", "--trust"]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    workbench.open_file("triage_v1.yml.j2")
    workbench.run_command("promptls: Show Results")
    results = workbench.panel("labels_exact_match")
    results.get_by_role("tab", name="Compare").click()
    expect(results.locator("#against")).to_contain_text("triage_v2.yml.j2")
    expect(results.get_by_role("heading", name="Row by row")).to_be_visible()
    expect(results.locator(".names")).to_contain_text(re.compile(r"\d+ rows in both"))
    workbench.screenshot("compared")


def test_a_folder_with_prompts_shows_the_view_before_any_is_opened(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "greet.yml.j2").write_text("- name: greeting\n  role: user\n  content: Hi\n", "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.page.get_by_role("tab", name="promptls").click()
    tree = workbench.page.get_by_role("tree", name="Prompts")
    expect(tree.get_by_role("treeitem", name="greet.yml.j2")).to_be_visible()
    workbench.screenshot("view")


def test_a_folder_of_ansible_shows_nothing_of_promptls_until_a_prompt_is_opened(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    shutil.copytree(NOT_PROMPTS / "ansible", tmp_path / "roles" / "web" / "templates")
    message = "The workspace has no prompts"
    before = code_server.logs().count(message)
    workbench = open_folder(code_server, tmp_path)
    end = time.monotonic() + 60
    while code_server.logs().count(message) == before:
        assert time.monotonic() < end, "the extension did not look for prompts"
        workbench.page.wait_for_timeout(100)
    expect(workbench.page.get_by_role("tab", name="promptls")).to_have_count(0)
    expect(workbench.page.get_by_role("tab", name="Testing")).to_have_count(0)
    workbench.screenshot("ansible")
    (tmp_path / "greet.yml.j2").write_text("- name: greeting\n  role: user\n  content: Hi\n", "utf-8")
    workbench.open_file("greet.yml.j2")
    expect(workbench.page.get_by_role("tab", name="promptls")).to_be_visible()
    expect(workbench.page.get_by_role("tab", name="Testing")).to_be_visible()


def test_results_come_back_after_a_reload(workbench: Workbench, project: Path) -> None:
    command = [sys.executable, "-m", "promptls", "run", "triage_v1.yml.j2", "--model", "echo", "--trust"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    workbench.open_file("triage_v1.yml.j2")
    workbench.run_command("promptls: Show Results")
    workbench.panel("labels_exact_match")
    with workbench.page.expect_navigation():
        workbench.run_command("Developer: Reload Window")
    workbench.panel("labels_exact_match")
