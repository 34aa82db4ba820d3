"""The results of runs in a browser, served by `promptls results`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from served_page import served

from support.experiment_folder import Folder
from support.unfinished import unfinished_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artifacts" / "editor"
AXE = ROOT / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"
# Each row takes a moment to score, so that a run is seen while it goes on.
METRICS = """
import time
from promptls import discrete_metric

@discrete_metric(name="right", allowed_values=["yes", "no"])
def right(response, expected_answer):
    time.sleep(0.15)
    return "yes" if response == expected_answer else "no"
"""


@pytest.fixture(scope="session", autouse=True)
def pages() -> None:
    """Build the pages from the current sources."""
    subprocess.run([ROOT / "scripts" / "build-pages.sh"], check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return an experiment over 20 rows; every second row is wrong, and the first four have been run."""
    folder = Folder(tmp_path).write(metrics="metrics.py:right", settings="concurrency: 1", rows=20)
    (tmp_path / "metrics.py").write_text(METRICS, "utf-8")
    run(folder, "--rows", "4")
    return folder


def run(folder: Folder, *options: str) -> None:
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt), *options]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def page(browser: Browser, folder: Folder) -> Iterator[Page]:
    """Open the page of the last run; errors in its console fail the test."""
    complaints: list[str] = []
    with served(folder.prompt, command="results") as results:
        context = browser.new_context(viewport={"width": 1000, "height": 800}, bypass_csp=True)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(results.address)
        yield page
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / "live_results.png")
        context.close()
    assert complaints == []


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text("utf-8"))
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in page.evaluate("axe.run()")["violations"]]


def test_rows_that_are_selected_are_run_again_after_a_question(page: Page, folder: Folder) -> None:
    expect(page.get_by_label("Scores")).to_contain_text("right")
    expect(page.get_by_role("region", name="Totals")).to_contain_text("free")
    page.get_by_role("tab", name="Rows").click()
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "5")
    page.get_by_label("Select row r2").check()
    page.get_by_label("Select row r3").check()
    page.get_by_role("button", name="Run 2 selected again").click()
    question = page.get_by_role("dialog", name="Run 2 rows of main again?")
    expect(question).to_contain_text("calls to make")
    assert violations(page) == []
    question.get_by_role("button", name="Run", exact=True).click()
    expect(grid).to_have_attribute("aria-rowcount", "3")
    assert len(list(folder.results.glob("*.csv"))) == 2


def test_a_run_is_followed_and_shown_when_it_ends(page: Page, folder: Folder) -> None:
    expect(page.get_by_label("Scores")).to_contain_text("right")
    page.get_by_role("button", name="Run again", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("progressbar", name="Progress of main")).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d+ of 20 rows"))).to_be_visible()
    assert violations(page) == []
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page.get_by_role("region", name="Totals")).to_contain_text(re.compile(r"rows\s*20"))


def test_a_run_that_is_cancelled_here_keeps_its_finished_rows(page: Page, folder: Folder) -> None:
    page.get_by_role("button", name="Run again", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("its finished rows are stored")
    assert unfinished_run(folder.results)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_thumb_is_stored_and_the_browser_saves_rows(page: Page, folder: Folder) -> None:
    page.get_by_role("tab", name="Rows").click()
    page.get_by_role("row", name="r2").click()
    page.get_by_role("button", name="Bad answer").click()
    expect(page.get_by_role("grid").get_by_role("img", name="thumb down")).to_be_visible()
    page.get_by_role("button", name="Noted").click()
    with page.expect_download() as download:
        page.locator("#export").select_option("csv")
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert lines[0].endswith("thumb,note")
    assert lines[1].startswith("r2,")
    assert list(folder.results.glob("*.notes.json"))
