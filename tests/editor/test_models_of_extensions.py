"""Models of another extension in a real VS Code, used by an experiment."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from code_server import CodeServer, running
from packed_extension import packed
from playwright.sync_api import expect
from workbench import Workbench

HOUSE = Path(__file__).with_name("house_models")
PROMPT = """\
{#---
input_keys: [text]
output_key: answer
experiments:
  echoes: {dataset: rows.csv, models: [MODEL], metrics: [exact_match]}
---#}
- name: rules
  role: system
  content: Say it again.
- name: question
  role: user
  content: |
    {{ escape_special_characters(text) }}
"""
ROWS = "id,text,answer\nsame,one two,one two\nno,please refuse,please refuse\n"

OpenFolder = Callable[[CodeServer, Path], Workbench]


@pytest.fixture(scope="module")
def house(
    code_server_command: Path, extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """Start a code-server with an extension that offers a model."""
    home = tmp_path_factory.mktemp("house")
    others = [packed(HOUSE, home / "house-models.vsix")]
    settings = {"promptls.server.path": str(Path(sys.executable).with_name("promptls"))}
    of_user = {"chat.disableAIFeatures": False}
    with running(
        code_server_command,
        home / "code",
        extension,
        machine_settings=settings,
        others=others,
        user_settings=of_user,
    ) as server:
        yield server


def running_experiment(open_folder: OpenFolder, house: CodeServer, folder: Path, model: str) -> Workbench:
    """Return a window in which an experiment with the model was started."""
    (folder / "ask.yml.j2").write_text(PROMPT.replace("MODEL", model), "utf-8")
    (folder / "rows.csv").write_text(ROWS, "utf-8")
    workbench = open_folder(house, folder)
    workbench.open_file("ask.yml.j2")
    workbench.click_lens("Run echoes")
    return workbench


def test_an_experiment_asks_a_model_of_another_extension(
    house: CodeServer, tmp_path: Path, open_folder: OpenFolder
) -> None:
    workbench = running_experiment(open_folder, house, tmp_path, "vscode:house/echo")
    results = workbench.panel("exact_match")
    expect(results.get_by_label("Scores")).to_contain_text(re.compile(r"100\s*%"))
    workbench.screenshot("results")
    results.get_by_role("tab", name="Rows").click()
    expect(results.get_by_role("grid")).to_contain_text("VS Code blocks requests to the model")
    expect(workbench.notification("1 of them failed")).to_be_visible()
    workbench.screenshot("rows")
    (table,) = (tmp_path / "experiments").glob("*.csv")
    lines = table.read_text("utf-8").splitlines()
    assert any(line.startswith("same,one two,one two,one two,pass") for line in lines)
    assert ",5,2," in next(line for line in lines if line.startswith("same"))


def test_models_of_the_editor_are_completed_and_a_missing_one_is_reported(
    house: CodeServer, tmp_path: Path, open_folder: OpenFolder
) -> None:
    workbench = running_experiment(open_folder, house, tmp_path, "vscode:house/none")
    expect(workbench.notification("VS Code has no model `house/none`")).to_be_visible()
    workbench.screenshot("missing")
    workbench.go_to(5, PROMPT.splitlines()[4].index("MODEL") + len("vscode:house/") + 1)
    workbench.page.keyboard.press("Control+Space")
    expect(workbench.page.locator(".suggest-widget").get_by_text("vscode:house/echo")).to_be_visible()
    workbench.screenshot("completed")
