"""Commands of the palette in a real VS Code while no prompt has the focus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

GREETING = "- name: greeting\n  role: user\n  content: Good morning.\n"


def test_without_an_open_prompt_a_command_is_about_the_only_one(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "greet.yml.j2").write_text(GREETING, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.run_command("promptls: Preview Prompt")
    workbench.panel("Good morning.")


def test_with_the_focus_in_a_panel_a_command_is_about_the_prompt_beside_it(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    for name in ("arrive", "greet"):
        (tmp_path / f"{name}.yml.j2").write_text(GREETING, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("greet.yml.j2")
    workbench.click_lens("Preview")
    workbench.panel("Good morning.").locator("#tokens").click()
    workbench.run_command("promptls: Run Experiment")
    message = workbench.notification("declares no experiment")
    expect(message).to_contain_text("greet.yml.j2")
    expect(message.get_by_role("button", name="Add Experiment and Run")).to_be_visible()
