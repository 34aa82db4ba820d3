"""Generating a test dataset from documents in a real VS Code."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

from support.library_documents import good_reply, write_documents
from support.model_server import model_server

MAKING_PATIENCE = 120_000
"""The timeout in milliseconds for a process to start, on a busy machine."""


def test_a_data_set_is_made_of_the_documents_that_are_chosen(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    write_documents(tmp_path)
    with model_server() as server:
        server.reply = good_reply
        office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        (tmp_path / "promptls.toml").write_text(f'default_model = "office"\n{office}', encoding="utf-8")
        workbench = open_folder(code_server, tmp_path)
        workbench.run_command("promptls: Generate Test Data From Documents")
        listed = workbench.page.locator(".quick-input-list .monaco-list-row")
        expect(listed).to_have_text(["docs/cards.md", "docs/lending.md"])
        listed.filter(has_text="docs/cards.md").get_by_text("docs/cards.md", exact=True).first.click()
        expect(workbench.page.locator(".quick-input-widget", has_text="1 Selected")).to_be_visible()
        workbench.screenshot("choosing documents")
        workbench.page.keyboard.press("Enter")
        workbench.answer("Number of queries", "3")
        workbench.screenshot("choosing a model")
        workbench.choose("The project's model")
        workbench.answer("The dataset file", "tests.csv")

        tab = workbench.page.locator(".editor-group-container .tab.active", has_text="tests.csv")
        expect(tab).to_be_visible(timeout=MAKING_PATIENCE)
        expect(workbench.line("id,user_input,reference")).to_be_visible()
        expect(workbench.notification("tests.csv: 3 rows")).to_be_visible()
        workbench.screenshot("made")
    with (tmp_path / "tests.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["sources"] for row in rows].count('["docs/cards.md"]') >= 1
    assert not any("lending" in row["sources"] for row in rows)
