"""Keys of model providers in a real VS Code: requested, stored, and never displayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from example_project import PROMPT
from playwright.sync_api import Frame, expect
from workbench import Workbench

KEY = "sk-planted-in-the-editor-0123456789"


def test_a_key_is_requested_and_stored_and_never_displayed(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.run_command("promptls: Set the Key of a Model Provider")
    quick = workbench.page.locator(".quick-input-widget:visible")
    quick.locator("input[type=text]").fill("OPENAI_API_KEY")
    workbench.page.keyboard.press("Enter")
    field = quick.locator("input[type=password]")
    field.fill(KEY)
    workbench.screenshot("asking for a key")
    workbench.page.keyboard.press("Enter")
    expect(workbench.notification("saved OPENAI_API_KEY")).to_be_visible()
    workbench.run_command("promptls: Set the Key of a Model Provider")
    expect(quick.get_by_text("saved")).to_be_visible()
    assert KEY not in workbench.page.content()


def _asked(
    code_server: CodeServer, folder: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> tuple[Workbench, Frame]:
    """Ask the model from the preview of a new prompt; return the window and the preview."""
    (folder / "greet.yml.j2").write_text("- name: a\n  role: user\n  content: Good morning.\n", "utf-8")
    workbench = open_folder(code_server, folder)
    workbench.open_file("greet.yml.j2")
    workbench.click_lens("Preview")
    preview = workbench.panel("Good morning.")
    preview.locator("#ask").click()
    return workbench, preview


def test_a_key_that_the_preview_misses_is_requested_and_the_model_asked_again(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "promptls.toml").write_text('default_model = "mistral:mistral-small"\n', "utf-8")
    workbench, preview = _asked(code_server, tmp_path, open_folder)
    expect(preview.get_by_role("alert")).to_contain_text("MISTRAL_API_KEY")
    workbench.screenshot("no key")
    workbench.notification("save the key").get_by_role("button", name="Set Key and Run").click()
    field = workbench.page.locator(".quick-input-widget:visible input[type=password]")
    field.fill(KEY)
    workbench.page.keyboard.press("Enter")
    expect(workbench.notification("saved MISTRAL_API_KEY")).to_be_visible()
    expect(preview.get_by_role("alert")).not_to_contain_text("MISTRAL_API_KEY")


def test_whether_a_key_goes_to_a_server_of_the_project_is_asked_in_a_dialog(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    model = 'provider = "openai"\nmodel = "m"\nbase_url = "https://models.invalid/v1"\n'
    settings = f'default_model = "house"\n[models.house]\napi_key_env = "HOUSE_KEY"\n{model}'
    (tmp_path / "promptls.toml").write_text(settings, "utf-8")
    workbench, preview = _asked(code_server, tmp_path, open_folder)
    question = workbench.dialog("HOUSE_KEY")
    expect(question.get_by_role("button", name="Send")).to_be_visible()
    expect(question.get_by_role("button")).to_have_count(3)  # Send, Cancel, and the one that closes
    workbench.screenshot("question")
    question.get_by_role("button", name="Cancel").click()
    expect(preview.get_by_role("alert")).to_be_visible()
    workbench.screenshot("refused")
