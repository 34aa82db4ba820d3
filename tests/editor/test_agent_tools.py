"""The agent tools of the extension in a real VS Code, called by another extension."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from code_server import CodeServer, running
from example_project import ROWS
from packed_extension import packed
from playwright.sync_api import expect
from workbench import Workbench

CALLER = Path(__file__).with_name("tool_caller")
PROMPT = """\
{#---
input_keys: [text]
experiments:
  echoes: {dataset: rows.csv, models: [echo], metrics: [exact_match]}
---#}
- name: question
  role: usr
  content: |
    {{ escape_special_characters(text) }}
"""
RUN_PATIENCE = 240_000
"""The timeout in milliseconds for a few rows of the embedded model, on a busy machine."""

OpenFolder = Callable[[CodeServer, Path], Workbench]


@pytest.fixture(scope="module")
def caller(
    code_server_command: Path, extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """Start a code-server with an extension that calls tools."""
    home = tmp_path_factory.mktemp("caller")
    with running(
        code_server_command,
        home / "code",
        extension,
        machine_settings={"promptls.server.path": str(Path(sys.executable).with_name("promptls"))},
        others=[packed(CALLER, home / "tool-caller.vsix")],
        user_settings={"chat.disableAIFeatures": False},
    ) as server:
        yield server


def call_tools(workbench: Workbench, folder: Path, *calls: tuple[str, dict[str, object]]) -> None:
    """Start calling tools one after another; their answers are shown as a document."""
    (folder / "calls.json").write_text(json.dumps(calls), "utf-8")
    workbench.run_command("Call the Tools of Agent Mode")


def test_agent_mode_checks_and_renders_prompts_of_the_workspace(
    caller: CodeServer, tmp_path: Path, open_folder: OpenFolder
) -> None:
    (tmp_path / "ask.yml.j2").write_text(PROMPT, "utf-8")
    (tmp_path / "rows.csv").write_text("id,text,expected\na,first row,x\n", "utf-8")
    workbench = open_folder(caller, tmp_path)
    workbench.open_file("ask.yml.j2")
    call_tools(
        workbench,
        tmp_path,
        ("check_prompts", {"paths": ["ask.yml.j2"]}),
        ("render_prompt", {"file": "ask.yml.j2", "row": 1}),
        ("show_contract", {"file": "../outside.yml.j2"}),
    )
    expect(workbench.line("8 tools")).to_be_visible()
    expect(workbench.line("ask.yml.j2:7:9 unknown-role")).to_be_visible()
    expect(workbench.line("first row")).to_be_visible()
    expect(workbench.line("there is no file ../outside.yml.j2 in the workspace")).to_be_visible()


@pytest.mark.model
def test_agent_mode_runs_experiments_with_consent_and_compares_and_reads_their_results(
    caller: CodeServer, project: Path, open_folder: OpenFolder
) -> None:
    workbench = open_folder(caller, project)
    call_tools(
        workbench,
        project,
        ("run_experiment", {"file": "triage_v1.yml.j2", "plan_only": True}),
        ("run_experiment", {"file": "triage_v1.yml.j2"}),
        ("run_experiment", {"file": "triage_v2.yml.j2"}),
        ("run_experiment", {"file": "triage_v2.yml.j2", "rows": "1", "fresh": True}),
        ("compare_runs", {"before": "triage_v1.yml.j2", "after": "triage_v2.yml.j2"}),
        ("read_results", {"run": "triage_v2.yml.j2"}),
    )
    answer_dialog(workbench, "triage_v1.yml.j2", f"{ROWS} rows;", "Yes")
    answer_dialog(workbench, "triage_v2.yml.j2", f"{ROWS} rows;", "Yes")
    answer_dialog(workbench, "triage_v2.yml.j2", "1 call to make", "Cancel")
    first, second = sorted(path.stem for path in (project / "experiments").glob("*.csv"))
    expect(workbench.line(f"{ROWS} rows; {ROWS} calls to make, 0 already answered")).to_be_visible()
    expect(workbench.line(f"{first}: {ROWS} rows: labels_exact_match")).to_be_visible()
    expect(workbench.line(f"table: experiments/{second}.csv")).to_be_visible()
    expect(workbench.line("Canceled")).to_be_visible()
    expect(workbench.line(f"before: {first}, after: {second}")).to_be_visible()
    expect(workbench.line("labels_exact_match: inconclusive at n = 4")).to_be_visible()
    expect(workbench.line(f"{second}: rows 1 to {ROWS} of {ROWS}")).to_be_visible()
    expect(workbench.line("incorrect (expected").first).to_be_visible()


def answer_dialog(workbench: Workbench, prompt: str, plan: str, button: str) -> None:
    """Answer the question whether to run a prompt, once it is asked."""
    dialog = workbench.page.get_by_role("dialog", name=f"Run the experiment of {prompt}?")
    expect(dialog).to_contain_text(plan, timeout=RUN_PATIENCE)
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(dialog).to_be_hidden()
