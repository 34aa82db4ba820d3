"""Writing a prompt in a real VS Code: completion, rename, formatting, highlighting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from example_project import PROMPT
from playwright.sync_api import expect
from workbench import Workbench

from support.waiting import wait_until

NAME = "notes.yml.j2"
BEFORE = """\
{#---
input_keys:
  title: {type: string}
  text: {type: string}
---#}
- name: task
  role: user
  content: |
    {{text|upper}} {% if title %}under a title{% endif %}
"""
AFTER = """\
{#---
input_keys:
  heading: {type: string}
  text: {type: string}
---#}
- name: task
  role: user
  content: |
    {{ text | upper }} {% if heading %}under a title{% endif %}
    {{ heading }}
"""


@pytest.fixture
def notes(workbench: Workbench, example: Path) -> Path:
    """Open a prompt for the test, and wait until the server has read it."""
    path = example / NAME
    path.write_text(BEFORE, "utf-8")
    workbench.open_file(NAME)
    expect(workbench.lens("Preview")).to_be_visible()
    return path


def test_enter_behind_an_opened_block_inserts_its_end(workbench: Workbench, notes: Path) -> None:
    keyboard = workbench.page.keyboard
    workbench.go_to(9)
    keyboard.press("End")
    keyboard.press("Enter")
    workbench.type("{%if text%}")
    expect(workbench.line("{% if text %}")).to_be_visible()
    keyboard.press("Enter")
    expect(workbench.line("{% endif %}")).to_have_count(2)
    expect(workbench.status("Ln ")).to_contain_text("Ln 11, Col 5")


def test_an_end_tag_typed_by_hand_replaces_the_inserted_one(workbench: Workbench, notes: Path) -> None:
    keyboard = workbench.page.keyboard
    workbench.go_to(9)
    keyboard.press("End")
    keyboard.press("Enter")
    workbench.type("{% if text %}")
    keyboard.press("Enter")
    expect(workbench.line("{% endif %}")).to_have_count(2)
    workbench.type("{%endif%}")
    expect(workbench.line("{%endif%}")).to_have_count(0)
    expect(workbench.line("{% endif %}")).to_have_count(2)


def test_enter_on_the_last_line_inserts_the_end_below_the_cursor(workbench: Workbench, notes: Path) -> None:
    keyboard = workbench.page.keyboard
    workbench.go_to(10)
    workbench.type("{% for a in [1] %}")
    expect(workbench.line("{% for a in [1] %}")).to_be_visible()
    keyboard.press("Enter")
    expect(workbench.line("{% endfor %}")).to_be_visible()
    expect(workbench.status("Ln ")).to_contain_text("Ln 11, Col 1")
    keyboard.press("Control+Z")
    expect(workbench.line("{% endfor %}")).to_have_count(0)
    expect(workbench.status("Ln ")).to_contain_text("Ln 11, Col 1")


def test_a_header_is_closed_as_it_is_opened(workbench: Workbench, notes: Path) -> None:
    keyboard = workbench.page.keyboard
    keyboard.press("Control+A")
    keyboard.press("Delete")
    # Without waiting for what the server answers to the line break.
    workbench.type("{#---")
    keyboard.press("Enter")
    workbench.type("name: greeting")
    keyboard.press("Escape")
    keyboard.press("Control+S")
    header = re.compile(r"\{#---\n *name: greeting\n---#\}")
    wait_until(lambda: header.fullmatch(notes.read_text("utf-8")) is not None)


def test_an_input_is_completed_then_renamed_and_the_prompt_laid_out(
    workbench: Workbench, notes: Path
) -> None:
    keyboard = workbench.page.keyboard
    workbench.go_to(9)
    keyboard.press("End")
    keyboard.press("Enter")
    expect(workbench.status("Ln ")).to_contain_text("Ln 10, Col 5")
    workbench.type("{{ ti")
    suggested = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
    expect(suggested).to_contain_text("title")
    workbench.screenshot("completion")
    keyboard.press("Enter")
    expect(workbench.line("{{ title }}")).to_be_visible()

    # The cursor is after the space that comes with the name.
    keyboard.press("ArrowLeft")
    keyboard.press("F2")
    box = workbench.page.locator(".rename-input")
    # VS Code focuses the box 100 ms after it opens it, which fails if the box is not rendered by then.
    expect(box).to_have_value("title")
    box.fill("heading")
    keyboard.press("Enter")
    expect(workbench.line("{{ heading }}")).to_be_visible()
    expect(workbench.line("heading: {type: string}")).to_be_visible()

    workbench.run_command("Format Document")
    expect(workbench.line("{{ text | upper }}")).to_be_visible()
    expect(workbench.page.locator(".squiggly-error, .squiggly-warning")).to_have_count(0)
    keyboard.press("Control+S")
    wait_until(lambda: notes.read_text("utf-8") == AFTER)
    workbench.screenshot("laid-out")


def test_a_completed_member_takes_the_space_of_a_completed_name(workbench: Workbench, notes: Path) -> None:
    suggested = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
    keyboard = workbench.page.keyboard
    workbench.go_to(9)
    keyboard.press("End")
    keyboard.press("Enter")
    workbench.type("{% for note in text %}{{ note.role }}{{ no")
    expect(suggested).to_contain_text("note")
    keyboard.press("Tab")
    expect(workbench.line("{{ note }}")).to_be_visible()
    keyboard.type(".ro", delay=50)
    expect(suggested).to_contain_text("role")
    keyboard.press("Tab")
    expect(workbench.line("}{{ note.role }}")).to_be_visible()


def test_a_completed_call_shows_its_parameters(workbench: Workbench, notes: Path) -> None:
    suggested = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
    keyboard = workbench.page.keyboard

    workbench.go_to(9)
    keyboard.press("End")
    keyboard.press("Enter")
    keyboard.type("{{ text | repl", delay=50)
    expect(suggested).to_contain_text("replace")
    keyboard.press("Tab")
    expect(workbench.page.locator(".parameter-hints-widget.visible")).to_contain_text("old")


def test_inputs_and_functions_have_colors_of_their_own(workbench: Workbench, notes: Path) -> None:
    def color(word: str) -> str:
        token = workbench.page.locator(".view-line span span", has_text=re.compile(rf"^{word}$")).last
        expect(token).to_be_visible()
        return str(token.evaluate("element => getComputedStyle(element).color"))

    colors = {word: color(word) for word in ("text", "upper", "if")}
    assert len(set(colors.values())) == 3, colors


def test_a_samples_file_is_checked_and_completed_before_any_prompt_is_open(
    workbench: Workbench, example: Path
) -> None:
    (example / "samples" / "tickets.yml").write_text("short:\n  txt: Hello\n", "utf-8")
    workbench.open_file("tickets.yml")
    expect(workbench.problem("the sample `short` lacks `text`").first).to_be_visible()
    workbench.page.keyboard.press("Control+End")
    workbench.page.keyboard.type("long:\n  te", delay=80)
    suggested = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
    expect(suggested).to_contain_text("input")
    workbench.page.keyboard.press("Tab")
    expect(workbench.line("text:")).to_be_visible()


@pytest.mark.usefixtures("notes")
def test_the_settings_file_is_completed_and_explained(workbench: Workbench, example: Path) -> None:
    (example / "promptls.toml").write_text("\n[rendering]\ntimeout = 9\n", "utf-8")
    workbench.open_file("promptls.toml")
    workbench.go_to(1)
    workbench.type("enc")
    suggested = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
    expect(suggested).to_contain_text("encoding")
    workbench.screenshot("settings-file")
    workbench.page.keyboard.press("Enter")
    expect(workbench.page.locator(".view-line").first).to_contain_text('encoding = ""')
    workbench.page.keyboard.press("Control+/")
    expect(workbench.page.locator(".view-line").first).to_contain_text("#\u00a0encoding")


def test_tags_that_are_typed_out_are_closed_once(workbench: Workbench, notes: Path) -> None:
    keyboard = workbench.page.keyboard
    workbench.go_to(9)
    keyboard.press("End")
    for line in ("{{ text }}", "{% if title %}a{% endif %}", "{# a note #}"):
        keyboard.press("Enter")
        workbench.type(line)
        # What is suggested must not take the next line's beginning.
        keyboard.press("Escape")
        expect(workbench.line(line).last).to_have_text(line.replace(" ", "\u00a0"), use_inner_text=True)
    workbench.screenshot("tags")


def test_pasted_lines_are_indented_as_the_text_around_them(workbench: Workbench, notes: Path) -> None:
    page = workbench.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", "First:\n- second\n\nThird")
    workbench.go_to(9)
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+V")
    expect(workbench.line("Third")).to_be_visible()
    page.keyboard.press("Control+S")
    lines = "    First:\n    - second\n\n    Third\n"
    wait_until(lambda: notes.read_text("utf-8") == BEFORE + lines)


def test_a_metric_is_renamed_in_the_header_and_in_its_file(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    lines = (example / PROMPT).read_text("utf-8").splitlines()
    number, line = next((n, line) for n, line in enumerate(lines, 1) if "priority_accuracy" in line)
    workbench.go_to(number, line.index("priority_accuracy") + 2)
    workbench.page.keyboard.press("F2")
    box = workbench.page.locator(".rename-input")
    expect(box).to_have_value("priority_accuracy")
    box.fill("same_priority")
    workbench.page.keyboard.press("Enter")
    expect(workbench.line("metrics.py:same_priority")).to_be_visible()
    workbench.open_file("metrics.py")
    expect(workbench.line("def same_priority(")).to_be_visible()


def test_a_metric_is_renamed_from_its_file(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.open_file("metrics.py")
    _rename(workbench, example / "metrics.py", "def priority_accuracy", "same_priority")
    expect(workbench.line("def same_priority(")).to_be_visible()
    workbench.open_file(PROMPT)
    expect(workbench.line("metrics.py:same_priority")).to_be_visible()


def test_a_column_is_renamed_from_its_data_set(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.open_file("support_triage.csv")
    _rename(workbench, example / "datasets" / "support_triage.csv", "id,text", "ticket")
    expect(workbench.line("id,ticket,labels")).to_be_visible()
    workbench.open_file(PROMPT)
    expect(workbench.line("ticket: {type: string")).to_be_visible()
    expect(workbench.line("- ticket: Nothing loads")).to_be_visible()


def _rename(workbench: Workbench, path: Path, words: str, new_name: str) -> None:
    """Rename the name at the end of some words in the active editor."""
    lines = path.read_text("utf-8").splitlines()
    number, line = next((number, line) for number, line in enumerate(lines, 1) if words in line)
    name = words.replace(",", " ").split()[-1]
    workbench.go_to(number, line.index(words) + len(words) - 1)
    workbench.page.keyboard.press("F2")
    box = workbench.page.locator(".rename-input")
    expect(box).to_have_value(name)
    box.fill(new_name)
    workbench.page.keyboard.press("Enter")


def test_every_edit_of_a_rename_is_ticked_in_its_preview(workbench: Workbench, example: Path) -> None:
    page = workbench.page
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    lines = (example / PROMPT).read_text("utf-8").splitlines()
    number, line = next((n, line) for n, line in enumerate(lines, 1) if "escape_special_characters" in line)
    workbench.go_to(number, line.index("text)") + 2)
    page.keyboard.press("F2")
    box = page.locator(".rename-input")
    expect(box).to_have_value("text")
    box.fill("message")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Apply", exact=True)).to_be_visible()
    for name in ("support_triage.csv", "tickets.yml", "examples.yml.j2"):
        expect(page.locator(".panel .monaco-list-row", has_text=name)).to_be_visible()
    ticks = page.locator(".panel .monaco-list-row").get_by_role("checkbox")
    expect(ticks.first).to_be_visible()
    expect(page.locator(".panel .monaco-list-row").get_by_role("checkbox", checked=False)).to_have_count(0)
    workbench.screenshot("rename-preview")
