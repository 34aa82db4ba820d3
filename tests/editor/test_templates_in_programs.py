"""A template in a string of a Python program, in a real VS Code."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from workbench import Workbench

PROGRAM = '''\
from prompt_poet import Prompt

RAW = """
- name: tone
  role: system
  content: |
    Be {{ tone }}.
    Answer in {{ langauge }}.
- name: question
  role: user
  content: "{{ question | trim }} "
"""
prompt = Prompt(raw_template=RAW, template_data={"tone": "kind", "language": "English", "question": "Why?"})
'''


def test_a_template_in_a_program_is_checked_and_previewed(workbench: Workbench, project: Path) -> None:
    (project / "app.py").write_text(PROGRAM, "utf-8")
    workbench.open_file("app.py")
    expect(workbench.page.locator(".squiggly-warning").first).to_be_visible()
    workbench.screenshot("program")
    workbench.click_lens("Preview")
    expect(workbench.page.get_by_role("tab", name="app.py.template-1.md")).to_be_visible()
    workbench.screenshot("preview")
