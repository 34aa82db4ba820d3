"""The files that start the server in a real VS Code: prompts, and no others with such names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

from support.waiting import wait_until

SAVED = {
    "ragas_version": "0.4.3",
    "original_hash": 1,
    "language": "german",
    "instruction": "Compare the two.",
    "examples": [{"input": {"a": 1}, "outptu": {"b": 1}}],
}


def test_a_saved_prompt_alone_starts_the_server_and_other_json_does_not(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    # Names such as prompts/*.json are those of many other projects.
    (tmp_path / "promptls.toml").touch()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "compare.json").write_text(json.dumps(SAVED, indent=2), "utf-8")
    (tmp_path / "prompts" / "other.json").write_text('{"greeting": "Hello"}', "utf-8")
    begun = code_server.logs().count("Starting ")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("other.json")
    # The extension is there once its tests are.
    expect(workbench.page.get_by_role("tab", name="Testing")).to_be_visible()
    assert code_server.logs().count("Starting ") == begun
    workbench.open_file("compare.json")
    expect(workbench.problem("Ragas ignores `outptu`; did you mean `output`?")).to_be_visible()
    workbench.screenshot("found")
    assert code_server.logs().count("Starting ") == begun + 1


PLAYBOOK = """\
- name: web server
  hosts: all
  tasks:
    - name: install
      copy: {content: "{{ greeting }}", dest: /etc/motd}
"""


def test_templates_of_other_tools_do_not_start_the_server_until_there_is_a_prompt(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "site.yml.j2").write_text(PLAYBOOK, "utf-8")
    (tmp_path / "values.yaml.j2").write_text("image: {{ image }}\n", "utf-8")
    (tmp_path / "new.yml.j2").touch()
    known = code_server.logs()
    workbench = open_folder(code_server, tmp_path)
    for name in ("site.yml.j2", "values.yaml.j2", "new.yml.j2"):
        workbench.open_file(name)
        expect(workbench.status("Prompt Template")).to_be_visible()
    workbench.type("- name: greeting")
    workbench.screenshot("silent")
    assert code_server.logs().count("The workspace has no prompts") == known.count("no prompts") + 1
    assert code_server.logs().count("Starting ") == known.count("Starting ")
    workbench.type("\nrole: user\ncontent: Good morning.")
    expect(workbench.lens("Preview")).to_be_visible()
    assert code_server.logs().count("Starting ") == known.count("Starting ") + 1


def test_a_prompt_is_written_into_an_empty_file_with_suggestions_at_each_key(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "greeting.yml.j2").touch()
    begun = code_server.logs().count("Starting ")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("greeting.yml.j2")
    wait_until(lambda: code_server.logs().count("Starting ") == begun + 1)
    keyboard = workbench.page.keyboard
    running = workbench.page.get_by_role("button", name="promptls 0.1.0")
    expect(running).to_be_visible()

    def accept(typed: str, offered: str) -> None:
        keyboard.type(typed, delay=50)  # as people do; VS Code waits for a pause before it asks
        row = workbench.page.locator(".suggest-widget .monaco-list-row.focused")
        expect(row).to_contain_text(offered)
        keyboard.press("Tab")

    workbench.type("{#---\n")
    expect(workbench.line("---#}")).to_be_visible()
    expect(workbench.status("Ln ")).to_contain_text("Ln 2, Col 1")
    accept("inp", "input_keys")
    workbench.type("name")
    keyboard.press("End")
    keyboard.type("\ndescription: Greet with na", delay=50)
    keyboard.press("Control+/")
    expect(workbench.line("# description: Greet with na")).to_be_visible()
    expect(workbench.page.locator(".suggest-widget.visible")).to_have_count(0)
    keyboard.press("Enter")
    accept("output_k", "output_key")
    workbench.type("answer")
    keyboard.press("ArrowDown")
    keyboard.press("End")
    keyboard.press("Enter")
    accept("- na", "name")
    workbench.type("system\n")
    accept("ro", "role")
    accept("us", "user")
    keyboard.press("Enter")
    accept("cont", "content")
    workbench.type("Greet name and ")
    workbench.screenshot("typed")
    expect(workbench.page.locator(".suggest-widget.visible")).to_have_count(0)
    accept("{{ na", "name")
    keyboard.press("Control+S")
    wait_until(lambda: (tmp_path / "greeting.yml.j2").read_text("utf-8") == WRITTEN)


WRITTEN = """\
{#---
input_keys: [name]
# description: Greet with na
output_key: answer
---#}
- name: system
  role: user
  content: |
    Greet name and {{ name }}"""

TEMPLATE = """\
from promptls import Prompt

Prompt(raw_template="- name: tone\\n  role: usr\\n  content: Be kind.\\n", template_data={})
"""
SAMPLE = """\
from ragas import SingleTurnSample

sample = SingleTurnSample(question="Why?", response="Because.")
"""


@pytest.mark.parametrize(
    ("program", "problem"),
    [(TEMPLATE, "no model knows the role `usr`"), (SAMPLE, "`SingleTurnSample` has no field `question`")],
)
def test_a_program_starts_the_server_where_prompts_are_only_in_programs(
    code_server: CodeServer,
    tmp_path: Path,
    open_folder: Callable[[CodeServer, Path], Workbench],
    program: str,
    problem: str,
) -> None:
    # No activation event knows what a file holds: an empty file of settings stands for it.
    (tmp_path / "promptls.toml").touch()
    (tmp_path / "app.py").write_text(program, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("app.py")
    expect(workbench.problem(problem)).to_be_visible()


CONFIGURATION = """\
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

infer_cfg = dict(
    prompt_template=dict(type=PromptTemplate, template="{question} </E>", ice_token="</E>"),
    retrievr=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)
datasets = [dict(reader_cfg=dict(input_columns=["question"], output_column="answer"), infer_cfg=infer_cfg)]
"""


def test_a_configuration_in_python_starts_the_server(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "promptls.toml").touch()
    (tmp_path / "trivia.py").write_text(CONFIGURATION, "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("trivia.py")
    expect(workbench.problem("retrievr")).to_be_visible()


GREETING = """\
{#---
samples: data/customers.json
input_keys: [name]
---#}
- name: greeting
  role: user
  content: Hello {{ name }}!
"""


def test_data_files_of_an_open_prompt_are_checked_wherever_they_are(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    (tmp_path / "greet.yml.j2").write_text(GREETING, "utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "customers.json").write_text('{"first": {"nmae": "Ada"}}', "utf-8")
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file("greet.yml.j2")
    expect(workbench.lens("Preview")).to_be_visible()
    workbench.open_file("customers.json")
    expect(workbench.problem("nmae")).to_have_count(2)  # in the header of the prompt and in the data file
