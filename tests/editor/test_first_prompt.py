"""The first minute with the extension in a real VS Code: an empty folder without a server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from code_server import CodeServer, running
from playwright.sync_api import expect
from workbench import Workbench

INSTALL_PATIENCE = 240_000
"""The timeout in milliseconds for pip to install the server, or the embedded model to be installed and
answer.
"""


@pytest.mark.model
def test_the_first_prompt_installs_the_server_and_asking_about_it_the_model(
    code_server_command: Path,
    extension: Path,
    tmp_path: Path,
    open_folder: Callable[[CodeServer, Path], Workbench],
) -> None:
    settings = {"promptls.server.python": sys.executable}
    folder = tmp_path / "project"
    folder.mkdir()
    with running(code_server_command, tmp_path / "home", extension, machine_settings=settings) as server:
        workbench = open_folder(server, folder)
        workbench.run_command("promptls: New Prompt")
        workbench.choose("Prompt")
        workbench.answer("The name of the prompt", "quiz")
        question = workbench.dialog("promptls needs its Python server")
        expect(question).to_contain_text("MB from PyPI")
        workbench.screenshot("server")
        assert list(server.storage.glob("environment-*")) == []
        question.get_by_role("button", name="Install").click()
        expect(workbench.lens("Preview")).to_be_visible(timeout=INSTALL_PATIENCE)
        expect(workbench.page.locator(".tab.active", has_text="quiz.yml.j2")).to_be_visible()
        expect(workbench.page.locator(".notification-toast", has_text="not installed")).to_have_count(0)

        workbench.click_lens("Preview")
        preview = workbench.panel("capital of France")
        preview.locator("#ask").click()
        workbench.dialog("embedded model SmolLM2").get_by_role("button", name="Cancel").click()
        ask_again = preview.get_by_role("button", name="Ask again")
        expect(ask_again).to_be_visible()
        expect(workbench.notification("promptls")).to_have_count(0)
        ask_again.click()
        question = workbench.dialog("embedded model SmolLM2")
        expect(question).to_be_visible()
        workbench.screenshot("model")
        question.get_by_role("button", name="Download").click()
        expect(preview.locator("#facts")).to_be_visible(timeout=INSTALL_PATIENCE)
        workbench.screenshot("answer")


def test_without_a_server_a_declined_command_leaves_no_error_and_asks_again_the_next_time(
    code_server_command: Path,
    extension: Path,
    tmp_path: Path,
    open_folder: Callable[[CodeServer, Path], Workbench],
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with running(code_server_command, tmp_path / "home", extension, machine_settings={}) as server:
        workbench = open_folder(server, folder)
        for _ in range(2):
            workbench.run_command("promptls: New Prompt")
            workbench.choose("Prompt")
            workbench.answer("The name of the prompt", "quiz")
            workbench.dialog("promptls needs its Python server").get_by_role("button", name="Cancel").click()
            expect(workbench.page.locator(".monaco-dialog-box")).to_have_count(0)
        expect(workbench.notification("promptls")).to_have_count(0)
        assert list(folder.iterdir()) == []
