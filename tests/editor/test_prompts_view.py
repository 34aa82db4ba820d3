"""The view of the activity bar in a real VS Code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect
from workbench import Workbench


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
    run = tree.get_by_role("treeitem").filter(has_text="labels_exact_match 0 %")
    expect(run).to_be_visible()
    workbench.screenshot("runs")
    run.click()
    workbench.panel("labels_exact_match")
