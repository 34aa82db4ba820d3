from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main

PROMPT = "- name: a\n  role: system\n  content: Be brief.\n- name: b\n  role: user\n  content: Hello.\n"


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    (folder / "a.yml.j2").write_text(PROMPT)
    return folder


def test_each_part_is_listed_below_its_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens"]) == 0
    assert capsys.readouterr().out == (
        "prompt    sample, role    tokens     share\n"
        "a.yml.j2  `placeholders`       5  no limit\n"
        "  a       system               3       60%\n"
        "  b       user                 2       40%\n"
        "\n"
        "5 tokens in 1 prompt.\n"
    )


def test_several_prompts_are_added_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.yml.j2").write_text(PROMPT)
    assert main(["tokens", "a.yml.j2", "b.yml.j2"]) == 0
    assert capsys.readouterr().out.endswith("\n10 tokens in 2 prompts.\n")


def test_a_section_is_counted_where_it_is_included(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.yml.j2").write_text(PROMPT)
    (folder / "a.yml.j2").write_text("{% include 's.yml.j2' %}\n" + PROMPT)
    assert main(["tokens", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert [(prompt["path"], prompt["tokens"]) for prompt in counted] == [("a.yml.j2", 10)]


def test_the_encoding_of_a_model_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--encoding", "gpt-4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["encoding"] == "cl100k_base"


def test_an_unknown_encoding_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--encoding", "o200k"]) == 2
    assert "did you mean `o200k_base`?" in capsys.readouterr().err


def test_one_prompt_that_does_not_render_does_not_hide_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yml.j2").write_text("- name: a\n  role: user\n  content: {{ x | }}\n")
    assert main(["tokens"]) == 1
    shown = capsys.readouterr()
    assert "b.yml.j2                          does not render" in shown.out
    assert shown.out.endswith("5 tokens in 1 prompt.\n")
    assert "at b.yml.j2:3" in shown.err


def test_a_folder_without_prompts_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text("- hosts: all\n  tasks: []\n")
    assert main(["tokens"]) == 0
    assert capsys.readouterr().out == "There is no prompt here.\n"


ROWS = """\
{#---
experiments:
  a: {dataset: rows.csv, models: [openai:gpt-4o], metrics: [exact_match]}
---#}
- name: fixed
  role: system
  content: Be brief.
- name: text
  role: user
  content: "{{ text }}"
"""


def test_the_rows_of_the_data_set_say_what_is_usual_and_the_model_what_it_costs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rows.csv").write_text("text\none\nfive words stand in here\na b c d e f g h i\n")
    (folder / "a.yml.j2").write_text(ROWS)
    assert main(["tokens", "a.yml.j2", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["rows"] == {"dataset": "rows.csv", "count": 3, "min": 4, "median": 8, "max": 12}
    assert [(part["min"], part["median"], part["max"]) for part in found["parts"]] == [
        (3, 3, 3),
        (1, 5, 9),
    ]
    # Two messages of four tokens more each, and three to begin the answer.
    assert (found["tokens"], found["asChat"]) == (4, 15)
    assert main(["tokens", "a.yml.j2"]) == 0
    heading = capsys.readouterr().out.splitlines()[0].split("  ")
    assert [word.strip() for word in heading if word][2:6] == ["tokens", "min", "median", "max"]


def test_the_parts_of_an_include_have_their_ranges_over_the_rows_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rows.csv").write_text("text\none\nfive words stand in here\na b c d e f g h i\n")
    header, _, text = ROWS.partition("- name: text")
    (folder / "a.yml.j2").write_text(f"{header}{{% include 'text.yml.j2' %}}\n")
    (folder / "text.yml.j2").write_text(f"- name: text{text}")

    assert main(["tokens", "a.yml.j2", "--json"]) == 0

    (found,) = json.loads(capsys.readouterr().out)
    assert [(part["min"], part["max"]) for part in found["parts"]] == [(3, 3), (1, 9)]


def test_a_model_without_a_public_tokenizer_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--model", "anthropic:claude-sonnet-4-5"]) == 0
    assert "≈ 5 tokens in 1 prompt." in capsys.readouterr().out
