"""A prompt in a real VS Code: diagnostics, token counts, preview."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from example_project import PROMPT
from playwright.sync_api import Frame, expect
from workbench import Workbench

AXE = Path(__file__).resolve().parents[2] / "vscode-client" / "node_modules" / "axe-core" / "axe.min.js"

GREETING = """\
- name: greeting
  role: user
  content: Good morning.
"""


def line_of(folder: Path, text: str) -> int:
    """Return the line of the prompt, counted from 1, that begins with a text."""
    lines = (folder / PROMPT).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(text))


def violations(panel: Frame) -> list[str]:
    """Return the accessibility violations of a panel's page."""
    panel.evaluate(AXE.read_text("utf-8"))
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in panel.evaluate("axe.run()")["violations"]]


def test_the_example_opens_as_a_prompt_without_a_finding(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    expect(workbench.status("Prompt Template")).to_be_visible()
    expect(workbench.problems()).to_have_count(0)


def test_a_diagnostic_appears_while_typing_and_vanishes_with_the_fix(
    workbench: Workbench, example: Path
) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.problems()
    name = line_of(example, "- name: ticket")
    workbench.go_to(name + 1, 3)
    workbench.page.keyboard.press("Delete")
    expect(workbench.problem("unknown-part-key").first).to_be_visible()
    expect(workbench.page.locator(".squiggly-error, .squiggly-warning").first).to_be_visible()
    workbench.screenshot("broken")
    workbench.type("r")
    expect(workbench.problems()).to_have_count(0)
    expect(workbench.page.locator(".squiggly-error, .squiggly-warning")).to_have_count(0)


def test_hover_on_a_part_shows_its_tokens(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    number = line_of(example, "- name: answer format")
    workbench.go_to(number)
    # A hint that comes in would push the hover away.
    expect(workbench.line("answer")).to_contain_text(re.compile(r"\d+\s+tokens"))
    expect(workbench.line("sections/labels.yml.j2")).to_contain_text(re.compile(r"%\}\s*\d+\s+tokens"))
    expect(workbench.status(re.compile(r"\d+ / 1,000 tokens"))).to_be_visible()
    hover = workbench.hover(number, 10)
    expect(hover).to_contain_text(re.compile(r"rendered: \d+ tokens, \d+% of the limit"))


def test_the_status_bar_counts_the_tokens_against_the_limit(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.status(re.compile(r"\d+ / 1,000 tokens"))).to_be_visible()


def test_a_reload_with_the_focus_in_the_preview_brings_preview_and_count_back(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    workbench.panel("answer format").locator("#tokens").click()
    expect(workbench.status(re.compile(r"\d+ / 1,000 tokens"))).to_be_visible()
    with workbench.page.expect_navigation():
        workbench.run_command("Developer: Reload Window")
    expect(workbench.status(re.compile(r"\d+ / 1,000 tokens"))).to_be_visible()
    workbench.screenshot("reloaded")
    workbench.panel("answer format")


def test_a_reload_just_after_the_preview_was_requested_brings_it_back(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.click_lens("Preview")
    expect(workbench.page.get_by_role("tab", name="Preview")).to_be_visible()
    with workbench.page.expect_navigation():
        workbench.run_command("Developer: Reload Window")
    workbench.panel("answer format")


def test_the_preview_opens_automatically_if_the_folder_says_so(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    settings = project / ".vscode" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"promptls.preview.openAutomatically": true}', "utf-8")
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    workbench.panel("answer format")
    workbench.screenshot("opened automatically")


def test_the_status_item_says_which_server_runs(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    # The last of what is written there at the start: a status bar that is drawn anew takes the pop-up away.
    expect(workbench.status(re.compile(r"\d+ / 1,000 tokens"))).to_be_visible()
    workbench.page.locator(".statusbar-item[id='status.languageStatus']").click()
    expect(workbench.page.locator(".hover-language-status", has_text="promptls")).to_contain_text(
        "from the setting"
    )


def test_the_preview_shows_the_parts_and_follows_the_typing(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    preview = workbench.panel("answer format")
    expect(preview.get_by_role("listitem", name=re.compile("system part answer format"))).to_contain_text(
        "Return exactly this JSON"
    )
    expect(preview.locator("#tokens")).to_have_text(re.compile(r"\d+ of 1,000 tokens"))
    workbench.screenshot("preview")
    assert violations(preview) == []
    workbench.go_to(line_of(example, "    Return exactly this JSON"), 5)
    workbench.type("Typed just now. ")
    expect(preview.get_by_role("listitem", name=re.compile("answer format"))).to_contain_text(
        "Typed just now."
    )


def test_a_broken_prompt_keeps_its_last_preview_in_its_place_under_the_error(
    workbench: Workbench, example: Path
) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    preview = workbench.panel("answer format")
    workbench.go_to(line_of(example, "    Return exactly this JSON"), 5)
    place = preview.locator(".chat > li").first.bounding_box()
    workbench.type("{% if %}")
    expect(preview.get_by_role("alert")).to_contain_text("Cannot render")
    assert preview.locator(".chat > li").first.bounding_box() == place
    expect(preview.locator("#view.outdated")).to_contain_text("Return exactly this JSON")
    workbench.screenshot("broken")
    for _ in "{% if %}":
        workbench.page.keyboard.press("Backspace")
    expect(preview.get_by_role("alert")).to_have_count(0)
    expect(preview.locator("#view.outdated")).to_have_count(0)


def test_the_answer_is_as_high_as_its_text_and_is_resized_at_its_edge(
    workbench: Workbench, example: Path
) -> None:
    (example / "greet.yml.j2").write_text(GREETING, "utf-8")
    settings = example / "promptls.toml"
    settings.write_text(settings.read_text("utf-8").replace("local:smollm2", "echo"), "utf-8")
    workbench.open_file("greet.yml.j2")
    workbench.click_lens("Preview")
    preview = workbench.panel("Good morning.")
    preview.locator("#ask").click()
    expect(preview.locator("#facts")).to_contain_text(re.compile(r"\d+ tokens in, \d+ out"))
    pane = preview.get_by_role("region", name="Answer of the model")
    window_height = preview.evaluate("innerHeight")
    assert pane.evaluate("pane => pane.offsetHeight") < window_height / 4
    workbench.screenshot("short")
    assert violations(preview) == []

    edge = preview.get_by_role("separator", name="Height of the answer").bounding_box()
    assert edge is not None
    mouse = workbench.page.mouse
    mouse.move(edge["x"] + 100, edge["y"] + edge["height"] / 2)
    mouse.down()
    mouse.move(edge["x"] + 100, edge["y"] - 150, steps=3)
    mouse.up()
    assert pane.evaluate("pane => pane.offsetHeight") > window_height / 4
    workbench.screenshot("resized")
    preview.locator("#model").click()
    expect(preview.get_by_role("option").first).to_be_in_viewport()
    workbench.screenshot("models")


def test_a_click_on_rendered_text_reveals_the_place_that_made_it(workbench: Workbench, example: Path) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    preview = workbench.panel("answer format")
    preview.get_by_text("Return exactly this JSON").click()
    line = line_of(example, "    Return exactly this JSON")
    expect(workbench.status("Ln ")).to_contain_text(re.compile(rf"Ln {line}, Col"))


def test_the_preview_follows_the_cursor_also_into_an_included_file(
    workbench: Workbench, example: Path
) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    preview = workbench.panel("answer format")
    current = preview.locator(".part.current")
    workbench.go_to(line_of(example, "    {{ escape_special_characters(text) }}"), 10)
    expect(current).to_contain_text("ticket")
    workbench.open_file("priorities.yml.j2")
    workbench.go_to(5)
    expect(current).to_contain_text("priorities")
    workbench.screenshot("cursor")


def test_the_truncation_lab_names_the_best_step_and_has_its_charts_as_tables(
    workbench: Workbench, example: Path
) -> None:
    header = "{#---\ntoken_limit: 200\ntruncation_step: 20\nsamples: chat.json\n---#}\n"
    turn = "- name: turn {{ loop.index }}\n  role: {{ each.role }}\n  truncation_priority: 1\n"
    loop = f"{{% for each in history %}}\n{turn}  content: |\n    {{{{ each.content }}}}\n{{% endfor %}}\n"
    (example / "growing.yml.j2").write_text(header + loop, "utf-8")
    history = [{"role": "user", "content": f"Turn {index} says a few words."} for index in range(20)]
    (example / "chat.json").write_text(json.dumps({"history": history}), "utf-8")
    workbench.open_file("growing.yml.j2")
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.run_command("promptls: Open Truncation Lab")
    lab = workbench.panel("Best step")
    expect(lab.get_by_role("img").first).to_be_visible()
    workbench.screenshot("lab")
    assert violations(lab) == []
    steps = lab.get_by_role("region", name=re.compile("^Steps under a limit of 200"))
    steps.get_by_role("radio", name="Table").click()
    expect(steps.get_by_role("row").filter(has_text="now")).to_contain_text("20")
    lab.get_by_role("slider", name="Limit among those that were tried").fill("0")
    expect(steps).to_have_count(0)

    lab.get_by_label("Limit", exact=True).fill("120")
    lab.get_by_label("Limit", exact=True).press("Enter")
    expect(lab.get_by_role("heading", name="Steps under a limit of 120")).to_be_visible()
    step = lab.get_by_label("Step", exact=True).input_value()
    lab.get_by_role("button", name="Apply").click()
    expect(lab.get_by_role("button", name="Applied")).to_be_visible()
    expect(workbench.line("token_limit: 120")).to_be_visible()
    expect(workbench.line(f"truncation_step: {step}")).to_be_visible()
    expect(lab.get_by_text("as it is now")).to_be_visible()
    expect(lab.get_by_role("button", name="Explore again")).to_have_count(0)
    workbench.screenshot("applied")


def test_a_tighter_limit_in_the_preview_cuts_parts(workbench: Workbench, example: Path) -> None:
    turns = [
        f"- name: turn {index}\n  role: user\n  truncation_priority: 1\n  content: {'word ' * 20}\n"
        for index in range(5)
    ]
    header = "{#---\ntruncation_step: 20\n---#}\n"
    (example / "chat.yml.j2").write_text(header + "".join(turns), "utf-8")
    workbench.open_file("chat.yml.j2")
    workbench.click_lens("Preview")
    preview = workbench.panel("turn 4")
    expect(preview.locator(".part.cut")).to_have_count(0)
    preview.get_by_role("spinbutton", name="Limit").fill("70")
    preview.get_by_role("spinbutton", name="Limit").press("Enter")
    expect(preview.locator("#tokens")).to_contain_text("of 70 tokens")
    expect(preview.locator(".part.cut").first).to_contain_text("turn 0")
    expect(preview.locator(".part:not(.cut)").last).to_contain_text("turn 4")
    workbench.screenshot("limit")


def test_another_sample_renders_another_ticket(workbench: Workbench) -> None:
    workbench.open_file(PROMPT)
    workbench.click_lens("Preview")
    preview = workbench.panel("answer format")
    ticket = preview.get_by_role("listitem", name=re.compile("user part ticket"))
    before = ticket.inner_text()
    preview.get_by_role("button", name="Sample data").click()
    preview.get_by_role("option").nth(1).click()
    expect(ticket).not_to_have_text(before)


def test_the_status_bar_counts_the_chosen_sample_and_none_that_does_not_render(
    workbench: Workbench, example: Path
) -> None:
    header = "{#---\nsamples: greet.json\n---#}\n"
    (example / "greet.yml.j2").write_text(
        header + "- name: a\n  role: user\n  content: {{ text }}\n", "utf-8"
    )
    samples = {"one": {"text": "Hello"}, "two": {"text": "Hello to all"}, "wrong": {"text": "a: b"}}
    (example / "greet.json").write_text(json.dumps(samples), "utf-8")
    workbench.open_file("greet.yml.j2")
    workbench.click_lens("Preview")
    preview = workbench.panel("Hello")
    expect(workbench.status(re.compile(r"\b1 / 1,000 tokens"))).to_be_visible()
    for place, count in ((1, 3), (2, None)):
        preview.get_by_role("button", name="Sample data").click()
        preview.get_by_role("option").nth(place).click()
        if count is None:
            expect(preview.get_by_role("alert")).to_contain_text("Cannot render")
            expect(preview.locator("#view.outdated")).to_have_count(0)
            expect(workbench.status("1,000 tokens")).to_have_count(0)
        else:
            expect(workbench.status(re.compile(rf"\b{count} / 1,000 tokens"))).to_be_visible()
