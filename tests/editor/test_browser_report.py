"""The report of `promptls report` in a browser, opened from disk."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from promptls.results_view.html_report import report_html
from promptls.results_view.notes import save_note
from support.finished_run import write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artifacts" / "editor"
AXE = ROOT / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"
PAYLOAD = "</script><img src=x onerror=alert(1)><script>alert(2)</script>\u202eeffects\u2066"
COLUMNS = ("id", "text", "expected", "response", "exact_match", "exact_match_reason", "error", "model")
COLUMNS += ("repeat", "row_number", "seconds")
ROWS = 20_000
THEMES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "contrast": {"color_scheme": "dark", "contrast": "more"},
    "light contrast": {"color_scheme": "light", "contrast": "more"},
}


@pytest.fixture(scope="session", autouse=True)
def pages() -> None:
    """Build the pages from the current sources."""
    subprocess.run([ROOT / "scripts" / "build-pages.sh"], check=True)


def table(version: int) -> str:
    """Return a run's table: every tenth row is wrong in the first version, every twentieth in the second."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for number in range(1, ROWS + 1):
        is_wrong = number % (10 * version) == 0
        response = PAYLOAD if (number, version) == (20, 2) else "wrong" if is_wrong else f"label {number % 3}"
        verdict = "fail" if is_wrong else "pass"
        row = [f"r{number}", f"ticket {number}", f"label {number % 3}", response, verdict, "as it is"]
        writer.writerow([*row, "", "echo", 1, number, 0.2])
    return stream.getvalue()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    dataset = folder / "rows.csv"
    dataset.write_text("id,text,expected\n", "utf-8")
    runs = [
        write_run(
            folder / f"ask_v{version}.yml.j2",
            "- name: a\n",
            table(version),
            experiment="ask",
            dataset=dataset,
            name=f"20260101-00000{version}-ask_v{version}",
        )
        for version in (1, 2)
    ]
    save_note(runs[1], 19, "down", f"not nice {PAYLOAD}")
    path = folder / "report.html"
    path.write_text(report_html(runs), "utf-8")
    return path


@pytest.fixture
def open_report(
    browser: Browser, report: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens the report without a network; errors in its console fail the test."""
    complaints: list[str] = []
    opened = []

    def open_it(**window: Any) -> Page:
        context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 800}, "offline": True, **window}
        )
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(report.as_uri())
        return page

    yield open_it
    name = re.sub(r"\W+", "_", request.node.name).strip("_")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    for index, context in enumerate(opened):
        context.pages[0].screenshot(path=ARTEFACTS / f"{name}-{index}.png")
        context.close()
    assert complaints == []


def go(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def test_many_rows_are_filtered_and_walked_with_few_of_them_in_the_page(
    open_report: Callable[..., Page],
) -> None:
    page = open_report()
    expect(page.get_by_label("Scores")).to_contain_text("exact_match")
    go(page, "Rows")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", str(ROWS + 1))
    grid.press("End")
    expect(page.get_by_role("row", name=f"r{ROWS} ")).to_be_visible()
    assert page.get_by_role("row").count() < 100

    page.get_by_label("Which rows").select_option("failing")
    expect(grid).to_have_attribute("aria-rowcount", str(ROWS // 20 + 1))
    page.get_by_role("button", name="Changed").click()
    expect(grid).to_have_attribute("aria-rowcount", "2")
    page.get_by_label("Which rows").select_option("all")
    page.get_by_role("searchbox").fill("TICKET 30 ")
    expect(page.get_by_text("No row matches.")).to_be_visible()


def test_the_last_of_20000_rows_is_shown_side_by_side_with_few_rows_in_the_page(
    open_report: Callable[..., Page],
) -> None:
    page = open_report()
    go(page, "Compare")
    page.get_by_role("radio", name="All", exact=True).click()
    expect(page.get_by_role("heading", name="Side by side").locator("..")).to_contain_text("20,000 rows")
    pairs = page.get_by_role("list", name="Rows side by side").get_by_role("listitem")
    expect(pairs.first).to_contain_text("r1")
    page.evaluate("document.getElementById('view').scrollTop = 1e9")
    expect(page.locator("[aria-posinset='20000']")).to_contain_text("r20000")
    assert pairs.count() < 200


def test_a_payload_is_shown_as_text_in_every_view(open_report: Callable[..., Page]) -> None:
    page = open_report()
    go(page, "Rows")
    page.get_by_role("searchbox").fill("onerror")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "2")
    page.get_by_role("grid").press("Enter")
    details = page.get_by_role("complementary", name="Details of the row")
    expect(details).to_contain_text("</script><img src=x onerror=alert(1)>")
    expect(details).to_contain_text("thumb down")
    details.get_by_role("radio", name="Difference").click()
    expect(details.locator("ins").first).to_be_visible()
    details.press("Escape")
    expect(details).to_have_count(0)
    go(page, "Compare")
    expect(page.get_by_label("Differences")).to_contain_text("ask_v2 is better by")
    expect(page.locator(".pair").first).to_contain_text("r10")
    assert page.locator("img").count() == 0


def test_the_rows_that_are_found_are_exported(open_report: Callable[..., Page]) -> None:
    page = open_report()
    go(page, "Rows")
    page.get_by_role("button", name="Noted").click()
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "2")
    with page.expect_download() as download:
        page.locator("#export").select_option("jsonl")
    row = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert (row["id"], row["response"], row["thumb"]) == ("r20", PAYLOAD, "down")


@pytest.mark.parametrize("theme", THEMES)
def test_every_view_is_accessible_in_every_theme(open_report: Callable[..., Page], theme: str) -> None:
    page = open_report(**THEMES[theme], bypass_csp=True)
    page.add_script_tag(path=AXE)
    found = {}
    for view in ("Overview", "Rows", "Compare", "Classes"):
        go(page, view)
        if view == "Rows":
            page.locator("#row-1").click()
            expect(page.get_by_role("complementary")).to_contain_text("Response")
        result = page.evaluate("axe.run()")
        found[view] = [
            (each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in result["violations"]
        ]
    assert found == {view: [] for view in found}


def test_a_narrow_window_has_no_scroll_bar_to_the_side(open_report: Callable[..., Page]) -> None:
    page = open_report(viewport={"width": 380, "height": 700})
    for view in ("Overview", "Rows", "Compare", "Classes"):
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("(v => v.scrollWidth <= v.clientWidth)(document.getElementById('view'))"), view
