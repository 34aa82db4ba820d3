"""The tools that the extension offers to agent mode in a real VS Code, called by another extension."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from code_server import CodeServer, running
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


@pytest.fixture(scope="module")
def caller(
    code_server_command: Path, extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """A code-server with an extension that calls tools."""
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


def test_agent_mode_checks_and_renders_prompts_of_the_workspace(
    caller: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "ask.yml.j2").write_text(PROMPT, "utf-8")
    (tmp_path / "rows.csv").write_text("id,text,expected\na,first row,x\n", "utf-8")
    workbench = open_folder(caller, tmp_path)
    workbench.open_file("ask.yml.j2")
    workbench.run_command("Call the Tools of Agent Mode")
    expect(workbench.line("8 tools")).to_be_visible()
    expect(workbench.line("ask.yml.j2:7:9 unknown-role")).to_be_visible()
    expect(workbench.line("first row")).to_be_visible()
    expect(workbench.line("there is no file ../outside.yml.j2 in the workspace")).to_be_visible()
