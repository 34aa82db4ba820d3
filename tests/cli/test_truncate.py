from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from promptls.cli.main import main
from support.finished_run import write_run

CHAT = """\
{#---
token_limit: 300
truncation_step: 20
---#}
- name: instructions
  role: system
  content: Be brief.
{% for message in messages %}
- name: message {{ loop.index }}
  role: {{ message.role }}
  truncation_priority: 1
  content: "{{ escape_special_characters(message.content) }}"
{% endfor %}
"""


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    (folder / "chat.yml.j2").write_text(CHAT)
    return folder


def test_the_table_marks_the_best_step_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truncate", "chat.yml.j2"]) == 0
    shown = capsys.readouterr().out
    assert "`messages` grows over" in shown
    best = next(line.split() for line in shown.splitlines() if line.startswith("best"))
    assert f"With a step of {best[1]} tokens, {best[2]} of the prompts is read from the cache" in shown
    assert any(line.startswith("now ") for line in shown.splitlines())


def test_all_that_was_found_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["truncate", "chat.yml.j2", "--turns", "9", "--limit", "100,200", "--step", "50", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["input"], found["limits"], found["cache"]["name"]) == ("messages", [100, 200], "exact")
    assert [len(cell["turns"]["tokens"]) for cell in found["cells"]] == [9] * len(found["cells"])
    assert all(tokens <= cell["limit"] for cell in found["cells"] for tokens in cell["turns"]["tokens"])


def test_rows_of_the_data_set_are_the_chats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"messages": [{"role": "user", "content": f"Turn {n}"}] * (n + 3)} for n in range(2)]
    (folder / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    header = (
        "experiments:\n  answers: {dataset: chats.jsonl, models: [openai:gpt-4o], metrics: [exact_match]}\n"
    )
    (folder / "chat.yml.j2").write_text(CHAT.replace("---#}", f"{header}---#}}"))
    assert main(["truncate", "chat.yml.j2", "--turns", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(chat["name"], chat["source"], chat["generated"]) for chat in found["chats"]] == [
        ("row 1", "chats.jsonl", 0),
        ("row 2", "chats.jsonl", 0),
    ]
    assert found["cache"]["name"] == "openai"


def test_the_picture_is_a_file_of_the_asked_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truncate", "chat.yml.j2", "--turns", "12", "--plot", "lab.svg"]) == 0
    texts = {
        "".join(element.itertext()).strip()
        for element in ET.parse(folder / "lab.svg").iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"read from the cache", "kept of what fits", "truncation step, in tokens"} <= texts
    assert "The picture is in lab.svg." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--plot", "lab.bmp"], "choose one of .svg, .png, .pdf"),
        (["--plot", "nowhere/lab.svg"], "there is no such folder"),
        (["--cache", "opanai"], "did you mean `openai`?"),
        (["--limit", "100,no"], "`no` is not a whole number of 1 or more"),
    ],
)
def test_wrong_use_says_what_to_do(
    arguments: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["truncate", "chat.yml.j2", *arguments]) == 2
    assert reported in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prompt", "reported"),
    [
        ("- {name: a, role: user, content: hi}\n", "no chat can grow"),
        (
            CHAT.replace("  truncation_priority: 1\n", ""),
            "give the part of each message a `truncation_priority`",
        ),
        (CHAT.replace("message.role", "message.role.x.y"), "has no attribute 'x'"),
    ],
)
def test_a_prompt_without_a_chat_to_cut_says_why(
    folder: Path, prompt: str, reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "chat.yml.j2").write_text(prompt)
    assert main(["truncate", "chat.yml.j2", "--sample", "placeholders"]) == 1
    assert reported in capsys.readouterr().err


def test_the_cache_that_a_run_measured_is_shown_beside_the_prediction(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rows.csv").write_text("a\n1\n")
    table = "id,exact_match,error,model,row_number\n1,pass,,openai:gpt-4o,1\n"
    prompt, name = folder / "chat.yml.j2", "20260101-000000-chat"
    run = write_run(prompt, CHAT, table, experiment="e", dataset=folder / "rows.csv", name=name)
    manifest = json.loads(run.manifest.read_text())
    manifest["totals"] |= {"input_tokens": 200, "cached_input_tokens": 150}
    run.manifest.write_text(json.dumps(manifest))
    assert main(["truncate", "chat.yml.j2", "--turns", "3"]) == 0
    shown = capsys.readouterr().out
    assert "measured: 75% of the input tokens were read from the cache of openai:gpt-4o in 2026" in shown
