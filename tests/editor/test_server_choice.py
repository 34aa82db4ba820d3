"""The choice of the server in a real VS Code, and the messages if it cannot be started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer, running
from example_project import PROMPT
from playwright.sync_api import expect
from workbench import Workbench

INSTALL_PATIENCE = 240_000
"""The timeout in milliseconds for pip to install the server."""

OpenFolder = Callable[[CodeServer, Path], Workbench]


def test_without_any_server_one_is_installed_where_the_user_says_so(
    code_server_command: Path, extension: Path, project: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    settings = {"promptls.server.python": sys.executable}
    with running(code_server_command, tmp_path / "home", extension, machine_settings=settings) as server:
        workbench = open_folder(server, project)
        workbench.open_file(PROMPT)
        question = workbench.notification("promptls needs its Python server")
        expect(question).to_be_visible()
        offer = workbench.status("promptls: Install Server")
        expect(offer).to_be_visible()
        workbench.screenshot("question")
        assert list(server.storage.glob("environment-*")) == []
        question.get_by_role("button", name="Install").click()
        expect(workbench.notification("installing the server")).to_be_visible()
        expect(workbench.lens("Preview")).to_be_visible(timeout=INSTALL_PATIENCE)
        expect(offer).to_have_count(0)
        assert [path.parent.name for path in server.storage.glob("environment-*/.complete")] != []
        assert "(from the own environment)" in server.logs()


def test_without_an_extension_for_python_the_setting_of_the_machine_names_one(
    code_server_command: Path, extension: Path, project: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    with running(code_server_command, tmp_path / "home", extension, machine_settings={}) as server:
        workbench = open_folder(server, project)
        workbench.open_file(PROMPT)
        question = workbench.notification("promptls needs its Python server")
        question.get_by_role("button", name="Choose Python").click()
        setting = workbench.page.locator(".settings-editor .setting-item-contents")
        expect(setting).to_have_count(1)
        expect(setting).to_contain_text("The Python interpreter")
        workbench.screenshot("setting")


def test_in_restricted_mode_nothing_is_installed_without_an_answer(
    code_server_command: Path, extension: Path, project: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    settings = {"promptls.server.python": sys.executable}
    home = tmp_path / "home"
    with running(code_server_command, home, extension, machine_settings=settings, trust=False) as server:
        workbench = open_folder(server, project)
        workbench.open_file(PROMPT)
        question = workbench.notification("promptls needs its Python server")
        # By the keyboard: VS Code can lose a click while the notification moves.
        question.get_by_role("button", name="Not now").press("Enter")
        workbench.run_command("promptls: Restart Server")
        expect(question).to_have_count(0)
        assert list(server.storage.glob("environment-*")) == []


def test_a_server_that_does_not_start_is_reported_with_a_remedy(
    code_server_command: Path, extension: Path, project: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    settings = {"promptls.server.path": str(tmp_path / "nowhere" / "promptls")}
    with running(code_server_command, tmp_path / "home", extension, machine_settings=settings) as server:
        workbench = open_folder(server, project)
        workbench.open_file(PROMPT)
        notification = workbench.notification("does not start")
        expect(notification).to_contain_text("The server from the setting")
        workbench.screenshot("message")
        notification.get_by_role("button", name="Show Log").click()
        expect(workbench.page.locator(".output-view").first).to_be_visible()


def test_restricted_mode_checks_prompts_and_runs_nothing(
    code_server_command: Path, extension: Path, project: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    settings = {"promptls.server.path": str(Path(sys.executable).with_name("promptls"))}
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text(
        '{"promptls.server.path": "/workspace/chose/this"}', "utf-8"
    )
    home = tmp_path / "home"
    with running(code_server_command, home, extension, machine_settings=settings, trust=False) as server:
        workbench = open_folder(server, project)
        expect(workbench.status("Restricted Mode")).to_be_visible()
        workbench.open_file(PROMPT)
        workbench.click_lens("Run triage")
        expect(workbench.notification("in a folder that is not trusted")).to_be_visible()
        workbench.screenshot("refused")
        assert not (project / "experiments").exists()
        assert "/workspace/chose/this" not in server.logs()


GREETING = """\
{#---
input_keys: [name]
functions: helpers.py
---#}
- name: greeting
  role: user
  content: Hello {{ shout(name) }}
"""


def test_trust_given_from_the_preview_runs_what_it_had_left_out(
    code_server_command: Path, extension: Path, tmp_path: Path, open_folder: OpenFolder
) -> None:
    settings = {"promptls.server.path": str(Path(sys.executable).with_name("promptls"))}
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greet.yml.j2").write_text(GREETING, "utf-8")
    (folder / "helpers.py").write_text("def shout(text):\n    return text.upper() + '!'\n", "utf-8")
    home = tmp_path / "home"
    with running(code_server_command, home, extension, machine_settings=settings, trust=False) as server:
        workbench = open_folder(server, folder)
        workbench.open_file("greet.yml.j2")
        workbench.click_lens("Preview")
        preview = workbench.panel("helpers.py was not run")
        preview.locator("#manage-trust").click()
        workbench.page.get_by_role("button", name="Trust", exact=True).click()
        workbench.panel("Hello <NAME>!")
        workbench.screenshot("trusted")
