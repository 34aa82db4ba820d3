"""The preview of a prompt in a browser, served by `promptls preview`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from served_page import served

from support.growing_chat import GROWING_CHAT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "test-artifacts" / "editor"
AXE = ROOT / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"
HEADER = """\
{#---
experiments:
  triage: {dataset: rows.csv}
token_limit: 400
truncation_step: 100
---#}
"""
CHAT = (
    HEADER
    + """\
- name: persona
  role: system
  content: |
    You answer {{ name }}.
    Be brief.
{% for turn in range(12) %}
- name: turn {{ turn }}
  role: {{ "user" if turn % 2 == 0 else "assistant" }}
  truncation_priority: 1
  content: |
    Turn {{ turn }} of the chat, with some words so that it takes its place and its tokens.
    A second line of it.
{% endfor %}
- name: question
  role: user
  content: |
    {{ text }}
"""
)
EVALUATION = """\
reader_cfg: {input_columns: [q], output_column: a}
path: rows.csv
examples: [{q: zero, a: "0"}]
ice_template: {template: "{q}={a}"}
prompt_template: {template: {round: [{role: HUMAN, prompt: "</E>{q} ?"}]}, ice_token: "</E>"}
retriever: {type: FixKRetriever, fix_id_list: [0]}
inferencer: {type: GenInferencer}
"""
THEMES: dict[str, dict[str, str]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "contrast": {"color_scheme": "dark", "contrast": "more"},
    "light contrast": {"color_scheme": "light", "contrast": "more"},
}
PAYLOAD = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202eeffects\u2066"

OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="session", autouse=True)
def pages() -> None:
    """Build the pages from the current sources."""
    subprocess.run([ROOT / "scripts" / "build-pages.sh"], check=True)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a prompt with a dataset of 3,000 rows."""
    rows = "".join(f"Ann {index},Where is bill {index}?\n" for index in range(3000))
    (tmp_path / "rows.csv").write_text(f"name,text\n{rows}", "utf-8")
    path = tmp_path / "chat.yml.j2"
    path.write_text(CHAT, "utf-8")
    return path


@pytest.fixture
def open_preview(browser: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Return a function that serves a prompt and opens its page; errors in its console fail the test."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def open_it(file: Path, *options: str, **window: Any) -> Page:
            preview = stack.enter_context(served(file, *options))
            context = browser.new_context(viewport={"width": 700, "height": 700}, **window)
            stack.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
            page.goto(preview.address)
            name = re.sub(r"\W+", "_", request.node.name).strip("_")
            stack.callback(page.screenshot, path=ARTEFACTS / f"{name}.png")
            return page

        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        yield open_it
    assert complaints == []


def parts(page: Page) -> Any:
    return page.get_by_role("list", name="Parts of the prompt").get_by_role("listitem")


def test_a_saved_change_is_shown_in_its_place_and_nothing_moves(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    expect(parts(page)).to_have_count(14)
    page.evaluate("document.getElementById('view').scrollTop = 300")
    page.evaluate("document.getElementById('part-3').marked = true")

    chat.write_text(CHAT.replace("A second line of it.", "Another line of it."), "utf-8")

    expect(parts(page).nth(3)).to_contain_text("Another line of it.")
    assert page.evaluate("document.getElementById('part-3').marked") is True
    assert page.evaluate("document.getElementById('view').scrollTop") == 300


def test_a_part_inserted_first_shifts_the_others_without_recreating_them(
    open_preview: OpenPage, chat: Path
) -> None:
    page = open_preview(chat)
    expect(parts(page)).to_have_count(14)
    page.evaluate("document.getElementById('view').scrollTop = 300")
    page.evaluate("document.querySelectorAll('.part').forEach(part => { part.marked = true })")
    # What the reader looks at, and where it stands in the window.
    seen = parts(page).filter(has_text="Turn 4 of the chat")
    before = seen.bounding_box()
    assert before is not None

    chat.write_text(
        CHAT.replace("- name: persona", "- name: new\n  role: user\n  content: Hi\n- name: persona"), "utf-8"
    )

    expect(parts(page)).to_have_count(15)
    assert page.evaluate("[...document.querySelectorAll('.part')].filter(part => part.marked).length") == 14
    # The window scrolls by whole pixels.
    assert seen.bounding_box() == pytest.approx(before, abs=1)


def test_a_broken_prompt_keeps_its_last_rendering_under_the_error_which_leads_to_the_line(
    open_preview: OpenPage, chat: Path
) -> None:
    page = open_preview(chat)
    expect(parts(page).first).to_contain_text("You answer Ann 0.")

    chat.write_text(CHAT.replace("{{ name }}", "{% if %}"), "utf-8")

    expect(page.get_by_role("alert")).to_contain_text("Cannot render: line 10")
    expect(page.locator("#view.outdated")).to_contain_text("You answer Ann 0.")
    page.locator("#go-to-failure").click()
    expect(page.get_by_role("region", name="Template")).to_contain_text("You answer {% if %}.")

    chat.write_text(CHAT, "utf-8")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#view.outdated")).to_have_count(0)


def test_rendered_text_leads_to_its_line_and_says_where_it_comes_from(
    open_preview: OpenPage, chat: Path
) -> None:
    page = open_preview(chat)
    place = page.get_by_text("Turn 4 of the chat").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 40, place["y"] + 10)
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("chat.yml.j2:17")
    expect(tip).to_contain_text("iteration 5 of")
    page.mouse.click(place["x"] + 40, place["y"] + 10)
    expect(page.get_by_role("region", name="Template")).to_contain_text("Turn {{ turn }} of the chat")


def test_a_row_is_found_among_thousands_by_typing(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    page.get_by_role("button", name="Sample data").press("Enter")
    expect(page.get_by_text("rows.csv · 3,000 rows")).to_be_visible()
    search = page.get_by_role("combobox", name="Search sample data")
    search.fill("BILL 2719")
    expect(page.get_by_role("option")).to_have_count(1)
    search.press("Enter")
    expect(parts(page).last).to_contain_text("Where is bill 2719?")
    expect(page.get_by_role("button", name="Sample data")).to_contain_text("row 2720")
    page.keyboard.press("]")
    expect(parts(page).last).to_contain_text("Where is bill 2720?")


def test_the_slider_greys_what_a_tighter_limit_cuts(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    expect(page.locator(".part.cut")).to_have_count(0)
    slider = page.get_by_role("slider", name="Limit, in tokens")
    slider.fill("150")
    expect(page.locator("#tokens")).to_contain_text("of 150 tokens")
    expect(page.locator(".part.cut").first).to_contain_text("turn 0")
    expect(page.locator(".part:not(.cut)").last).to_contain_text("question")
    page.get_by_role("button", name="Limit and step of the file").click()
    expect(page.locator(".part.cut")).to_have_count(0)


def test_a_limit_that_is_being_typed_stays_when_the_file_changes(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    limit = page.get_by_role("spinbutton", name="Limit")
    limit.fill("30")
    chat.write_text(chat.read_text("utf-8").replace("Be brief.", "Be brief, please."), "utf-8")
    expect(parts(page).first).to_contain_text("please")
    expect(limit).to_have_value("30")
    limit.press("Enter")
    expect(page.locator("#tokens")).to_contain_text("of 30 tokens")


def test_every_token_is_shown_with_its_id(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    page.get_by_role("tab", name="Tokens").click()
    text = page.get_by_label("Tokens of persona")
    expect(text).to_contain_text("Be brief.")
    text.press("ArrowRight")
    expect(page.locator(".token-id").first).to_have_text('"You" · #3575')


def test_the_request_names_the_key_and_the_difference_the_commit(open_preview: OpenPage, chat: Path) -> None:
    git = ["git", "-C", str(chat.parent), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init"], ["add", "."], ["-c", "commit.gpgsign=false", "commit", "-m", "Begin it"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    chat.write_text(CHAT.replace("Be brief.", "Be very brief, always."), "utf-8")
    page = open_preview(chat)
    page.get_by_role("tab", name="Request").click()
    expect(page.locator("#view")).to_contain_text("Authorization: Bearer $OPENAI_API_KEY")
    page.get_by_role("radio", name="Anthropic").click()
    page.get_by_role("radio", name="Python").click()
    expect(page.locator("#view")).to_contain_text("client = Anthropic()")
    page.get_by_role("tab", name="Diff").click()
    expect(page.locator("#view")).to_contain_text("Begin it")
    expect(page.locator(".part.changed")).to_have_count(1)
    expect(page.locator(".part.changed")).to_contain_text("+3")
    expect(page.locator("ins").first).to_contain_text("very")


def test_an_evaluation_prompt_shows_its_examples_and_lays_out_for_the_chosen_model(
    open_preview: OpenPage, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("q,a\none,A\ntwo,B\n", "utf-8")
    rounds = '[{role = "HUMAN", begin = "ASKED: "}, {role = "BOT", generate = true}]'
    (tmp_path / "promptls.toml").write_text(f"[meta_templates.loud]\nround = {rounds}\n", "utf-8")
    prompt = tmp_path / "ask.yml.j2"
    prompt.write_text(EVALUATION, "utf-8")
    page = open_preview(prompt)

    page.get_by_text("1 in-context example, 3 tokens").click()
    expect(page.get_by_role("listitem").filter(has_text="training row 1 · 3 tokens")).to_contain_text(
        "zero=0"
    )
    expect(parts(page).first).to_contain_text("ASKED: zero=0")
    page.get_by_label("Meta template").select_option("none")
    expect(parts(page).first).not_to_contain_text("ASKED:")


def test_the_content_of_a_part_is_always_text(open_preview: OpenPage, chat: Path) -> None:
    (chat.parent / "promptls.toml").write_text("[rendering]\ntimeout = 60\n", "utf-8")
    long = "word " * 390_000
    chat.write_text(
        f"- name: {json.dumps('<b>' + PAYLOAD)}\n  role: user\n  content: {json.dumps(PAYLOAD)}\n"
        f"- name: long\n  role: user\n  content: {long.strip()}\n",
        "utf-8",
    )
    page = open_preview(chat)
    expect(parts(page).first).to_contain_text("<img src=x onerror=alert(1)></script>")
    expect(parts(page).first).to_contain_text("▯effects▯")
    expect(page.get_by_role("button", name="Show 60,000 more of 1,949,999 characters")).to_be_visible()
    for view in ("Text", "Messages", "Tokens", "Request", "YAML", "Data", "Chat"):
        page.get_by_role("tab", name=view).click()
        expect(page.get_by_role("tab", name=view)).to_have_attribute("aria-selected", "true")
        expect(page.locator("#view img, #view script, #view b")).to_have_count(0)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_parts_and_what_made_them_are_reached_by_the_keyboard(open_preview: OpenPage, chat: Path) -> None:
    page = open_preview(chat)
    expect(parts(page)).to_have_count(14)
    parts(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(parts(page).nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=status].only-heard")).to_contain_text("chat.yml.j2:")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Template")).to_contain_text("chat.yml.j2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Template")).to_have_count(0)
    page.keyboard.press("4")
    expect(page.get_by_role("tab", name="Tokens")).to_have_attribute("aria-selected", "true")


def test_the_lab_is_a_separate_page_that_tries_any_limit(open_preview: OpenPage, chat: Path) -> None:
    chat.write_text(GROWING_CHAT, "utf-8")
    page = open_preview(chat)
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Truncation lab").click()
    lab = opened.value
    expect(lab.get_by_role("region", name="The best step")).to_be_visible()
    limit = lab.get_by_label("Limit", exact=True)
    limit.fill("123")
    limit.press("Enter")
    expect(lab.get_by_role("heading", name="Steps under a limit of 123")).to_be_visible()
    lab.evaluate(AXE.read_text("utf-8"))
    assert [each["id"] for each in lab.evaluate("axe.run()")["violations"]] == []


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_has_no_accessibility_violations(open_preview: OpenPage, chat: Path, theme: str) -> None:
    git = ["git", "-C", str(chat.parent), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init"], ["add", "."], ["-c", "commit.gpgsign=false", "commit", "-m", "Begin it"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    chat.write_text(CHAT.replace("- name: persona", "- name: person"), "utf-8")
    page = open_preview(chat, "--limit", "150", **THEMES[theme])
    expect(page.locator(".part.cut").first).to_be_visible()
    page.evaluate(AXE.read_text("utf-8"))
    found = {}
    for view in ("Chat", "Tokens", "Request", "Diff", "Data"):
        page.get_by_role("tab", name=view).click()
        expect(page.locator("#view")).to_contain_text("differ" if view == "Diff" else re.compile(r"\S"))
        result = page.evaluate("axe.run()")
        found[view] = [
            (each["id"], [node["html"][:200] for node in each["nodes"]]) for each in result["violations"]
        ]
    assert found == {view: [] for view in found}


def test_the_command_ends_at_an_interrupt_with_a_clear_line(browser: Browser, chat: Path) -> None:
    with served(chat) as preview:
        page = browser.new_page()
        page.goto(preview.address)
        expect(parts(page)).to_have_count(14)
        assert preview.interrupt() == "\nThe preview has ended.\n"
        assert preview.process.returncode == 0
        expect(page.get_by_role("alert")).to_contain_text("Run promptls preview again")
        page.close()
