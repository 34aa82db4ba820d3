from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main

PROMPT = (
    "{#---\ninput_keys:\n  text: {type: string, description: The ticket.}\n---#}\n"
    "- name: a\n  content: {{ text }} {{ tone | default('dry') }}\n"
    "{% include 'sections/history.yml.j2' %}\n"
)
SECTION = "{% for m in history %}\n- name: b\n  content: {{ m.author }}\n{% endfor %}\n"


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    (folder / "sections").mkdir()
    (folder / "a.yml.j2").write_text(PROMPT)
    (folder / "sections" / "history.yml.j2").write_text(SECTION)
    return folder


def test_the_inputs_are_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "a.yml.j2"]) == 0
    assert capsys.readouterr().out == (
        "input    type                          needed  declared    read at\n"
        "history  list of mappings with author  yes                 sections/history.yml.j2:1\n"
        "text     text                          yes     a.yml.j2:3  a.yml.j2:6\n"
        "tone     text, number or boolean       no                  a.yml.j2:6\n"
        "\n"
        "3 inputs of a.yml.j2, 2 of them needed.\n"
    )


def test_the_table_can_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "a.yml.j2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["complete"] is True
    assert shown["inputs"][1] == {
        "name": "text",
        "type": "text",
        "optional": False,
        "needed_where": None,
        "declared": {"path": "a.yml.j2", "line": 3},
        "description": "The ticket.",
        "read": [{"path": "a.yml.j2", "line": 6}],
    }


def test_a_prompt_that_takes_nothing_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  content: b\n")
    assert main(["contract", "b.yml.j2"]) == 0
    assert capsys.readouterr().out == "b.yml.j2 needs nothing from its caller.\n"


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("json-schema", '  "title": "a.yml.j2",'),
        ("pydantic", "    history: list[AHistoryItem]"),
        ("typeddict", "    tone: NotRequired[str | int | float | bool | None]"),
    ],
)
def test_the_inputs_can_be_had_in_other_forms(
    form: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "a.yml.j2", "--format", form]) == 0
    assert line in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.yml.j2", "--format", "yaml"], "`--format` cannot be `yaml`"),
        (["a.yml.j2", "--json", "--format", "pydantic"], "exclude each other"),
        (["gone.yml.j2"], "gone.yml.j2"),
        (["plain.txt"], "this is not a prompt file"),
    ],
)
def test_wrong_use_is_explained(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plain.txt").write_text("hello\n")
    assert main(["contract", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_input_that_a_constant_asks_for_says_where_it_is_needed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yml.j2").write_text(
        "- name: a\n  content: {{ mode }}\n{% if mode in ['a', 'b'] %}\n- name: b\n  content: {{ more }}\n"
        "{% elif mode != 'c' %}\n- name: c\n  content: {{ most }}\n{% endif %}\n"
    )
    assert main(["contract", "b.yml.j2"]) == 0
    shown = capsys.readouterr().out
    assert "more   text, number or boolean  where `mode` is 'a' or 'b' " in shown
    assert "most   text, number or boolean  where `mode` is none of 'a', 'b', 'c' " in shown
    assert "3 inputs of b.yml.j2, 1 of them needed" in shown


def test_a_folder_has_no_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "sections"]) == 2
    assert "this is a folder: a prompt file is needed" in capsys.readouterr().err
