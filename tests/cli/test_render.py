from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main

PROMPT = """\
{#---
input_keys: [text]
samples: samples.yml
token_limit: 100
truncation_step: 1
experiments:
  all: {dataset: rows.csv}
---#}
- name: instructions
  role: system
  content: Be brief.
- name: history
  role: user
  truncation_priority: 1
  content: Many words were said before this one.
- name: question
  role: user
  content: "{{ text }}"
"""


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    (folder / "a.yml.j2").write_text(PROMPT)
    (folder / "samples.yml").write_text("greeting: {text: Hello.}\nfarewell: {text: Bye.}\n")
    (folder / "rows.csv").write_text("text\nfirst row\nsecond row\n")
    return folder


def rendered(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["render", "a.yml.j2", "--json", *words]) == 0
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


def test_parts_are_shown_with_role_and_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a.yml.j2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("a.yml.j2 with `greeting` (samples.yml), o200k_base\n")
    assert "\ninstructions · system · 3 tokens\n    Be brief.\n" in shown
    assert "\nquestion · user · 2 tokens\n    Hello.\n" in shown
    assert shown.endswith("13 tokens in 3 parts, 13% of the limit of 100\n")


def test_a_sample_is_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert rendered(capsys, "--sample", "farewell")["parts"][2]["content"] == "Bye."


def test_a_row_of_the_dataset_is_chosen_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert rendered(capsys, "--row", "2")["parts"][2]["content"] == "second row"


def test_data_is_given_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert rendered(capsys, "--data", '{"text": "given"}')["parts"][2]["content"] == "given"


@pytest.mark.parametrize(("name", "content"), [("d.json", '{"text": "given"}'), ("d.yml", "text: given")])
def test_data_is_read_from_a_file(
    folder: Path, name: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(content)
    assert rendered(capsys, "--data", name)["parts"][2]["content"] == "given"


def test_a_limit_cuts_what_may_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a.yml.j2", "--limit", "6"]) == 0
    shown = capsys.readouterr().out
    assert "history · user · 8 tokens · cut by the token limit" in shown
    assert shown.endswith("13 tokens in 3 parts, 5 of them kept: 83% of the limit of 6\n")


def test_string_prints_the_prompt_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a.yml.j2", "--string"]) == 0
    assert capsys.readouterr().out == "Be brief.Many words were said before this one.Hello."


def test_messages_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a.yml.j2", "--messages"]) == 0
    messages = json.loads(capsys.readouterr().out)
    assert messages[0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("command", ["render", "ask", "truncate"])
def test_the_fix_of_a_finding_is_suggested_if_the_rendering_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  content: '{% if 2 gt 1 %}x{% endif %}'\n")

    assert main([command, str(folder / "b.yml.j2")]) == 1

    assert "unexpected `gt`. Change `gt` to `>`\n" in capsys.readouterr().err


def test_a_prompt_that_does_not_render_is_shown_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  role: user\n  content: {{ x | }}\n")
    assert main(["render", "b.yml.j2"]) == 1
    assert "\n  at b.yml.j2:3\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["render", "ask", "tokens", "truncate"])
def test_a_tag_that_nothing_closes_is_named_where_it_opens(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  {% if \n  content: |\n    {{ text }}\n  {% endif %}\n")
    assert main([command, "b.yml.j2"]) == 1
    shown = capsys.readouterr().err
    assert "expected `%}`: this tag is opened by `{%` and nothing closes it" in shown
    assert "at b.yml.j2:2\n" in shown


def test_a_function_that_nobody_provides_is_stood_in_for_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  role: user\n  content: {{ greet(text) }}\n")
    assert main(["render", "b.yml.j2"]) == 0
    assert capsys.readouterr().err == "note: nothing provides `greet`, so stand-ins were called\n"


def test_what_cannot_be_counted_is_shown_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  role: user\n  content: [1, 2]\n")
    assert main(["render", "b.yml.j2"]) == 1
    shown = capsys.readouterr()
    assert "a · user" in shown.out
    assert "no token count" in shown.err


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (["--sample", "greting"], "there is no sample `greting`", "greeting, farewell"),
        (["--row", "9"], "the dataset has no row 9", "its last row is row "),
        (["--row", "0"], "`0` is not a whole number of 1 or more", "promptls render --help"),
        (["--data", "[1]"], "the data is not a mapping", '{"name": value'),
        (["--data", '{"text":'], "the data is not JSON: Expecting value at column 9", '{"name": value'),
        (["--data", '{"text":' + "[" * 20_000], "the data is nested too deep", ""),
        (["--data", "rows.csv"], "the data is not a mapping", '{"name": value'),
        (["--row", "1", "--sample", "greeting"], "not allowed with", "promptls render --help"),
    ],
)
def test_a_wrong_choice_of_data_exits_2_with_a_remedy(
    words: list[str], message: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "a.yml.j2", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert remedy in shown.err


def test_broken_json_in_a_file_is_shown_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "d.json").write_text('{"text":\n oops}')
    assert main(["render", "a.yml.j2", "--data", "d.json"]) == 2
    assert "at d.json:2:2" in capsys.readouterr().err


def test_a_file_that_is_no_prompt_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "rows.csv"]) == 2
    assert "this is not a prompt file" in capsys.readouterr().err


def test_templates_that_a_program_writes_out_are_rendered_with_their_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "app.py").write_text(
        "raw = '''- name: a\n  content: Hi {{ name }}, {{ more }}\n'''\n"
        "Prompt(raw_template=raw, template_data={'name': 'Ada', 'more': load()})\n"
    )
    assert main(["render", "app.py", "--string"]) == 0
    assert capsys.readouterr().out.startswith("Hi Ada, ")


def test_a_program_without_templates_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "app.py").write_text("x = 1\n")
    assert main(["render", "app.py"]) == 2
    assert "the program contains no template" in capsys.readouterr().err


def test_a_prompt_in_another_encoding_is_refused_with_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yml.j2").write_text(PROMPT, encoding="utf-16")
    assert main(["render", "b.yml.j2"]) == 2
    assert capsys.readouterr().err.endswith("the file is not UTF-8\n  at b.yml.j2\n  → save it as UTF-8\n")


def test_data_that_lacks_an_input_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: {{ user.name }} in {{ city }}\n")
    assert main(["render", "a.yml.j2", "--data", '{"user": "Ann"}']) == 0
    missing, wrong = capsys.readouterr().err.splitlines()
    assert missing == "note: the data lacks `city`"
    assert wrong.startswith("note: the data: `user` is a text, and is used as ")
