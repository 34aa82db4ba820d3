from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.completion import complete
from promptls.workspace.workspace import Workspace
from support.accepting import accepted
from support.completing import INCLUDES, completions, labels
from support.fixture import MAIN, opened, parse


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{% include "<CURSOR>" %}', ["sections/tail.yml.j2", "macros.yml.j2"]),
        ('{% include "sec<CURSOR>', ["sections/tail.yml.j2"]),
        ("{% include <CURSOR> %}", ["sections/tail.yml.j2"]),
        ('{% include ["a", "<CURSOR>"] %}', ["macros.yml.j2"]),
        ('{% from "macros.yml.j2" import <CURSOR> %}', ["greet", "sign"]),
        ('{% from "macros.yml.j2" import greet as hi %}{{ <CURSOR> }}', ["hi"]),
        ('{% from "macros.yml.j2" import greet %}{{ greet(<CURSOR>', ["name=", "mark="]),
        ('{% import "macros.yml.j2" as m %}{{ m.<CURSOR> }}', ["greet", "sign"]),
        ('{% import "macros.yml.j2" as m %}{{ m.greet("x", <CURSOR>', ["mark="]),
    ],
)
def test_other_templates_give_their_paths_and_names(line: str, expected: list[str]) -> None:
    found = labels(INCLUDES % line)

    assert [label for label in expected if label not in found] == [], found
    assert "_own" not in found
    assert "main.yml.j2" not in found


def test_the_whole_path_between_the_quotes_is_replaced() -> None:
    found, text, _, _ = completions(INCLUDES % '{% include "sec<CURSOR>tions/x.yml.j2" %}')
    assert found is not None

    after = accepted(text, found, next(item for item in found.items if item.label.startswith("sections")))

    assert after == parse(INCLUDES % '{% include "sections/tail.yml.j2" %}')["main.yml.j2"].text


def test_a_section_knows_the_inputs_that_its_entry_declares() -> None:
    fixture = (
        "-- main.yml.j2 --\n{#---\ninput_keys: {tone: {type: string}}\n---#}\n- name: a\n  content: x\n"
        '{% include "tail.yml.j2" %}\n-- tail.yml.j2 --\n- name: tail\n  content: "{{ <CURSOR> }}"\n'
    )

    assert "tone" in labels(fixture)


HISTORY = """\
-- main.yml.j2 --
{#---
examples:
  - history: [{said: hello}]
---#}
{%% set tone = "kind" %%}
{%% for message in history %%}
{%% include "message.yml.j2" %%}
{{ message.time }}
{%% endfor %%}
-- message.yml.j2 --
- name: message
  content: "{{ %s }}"
"""


def test_a_section_knows_what_its_includer_hands_on() -> None:
    found = labels(HISTORY % "<CURSOR>")

    assert {"message", "tone"} <= set(found)
    assert "loop" not in found
    assert labels(HISTORY % "message.<CURSOR>")[:2] == ["said", "time"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "tickets.csv").write_text("text,expected\nhello,x\n")
    (tmp_path / "datasets" / "rows.jsonl").write_text('{"ticket": {"title": "t"}}\n')
    (tmp_path / "helpers.py").write_text('def shout(text: str, by: int = 1) -> str:\n    """Louder."""\n')
    (tmp_path / "metrics.py").write_text(
        "@discrete_metric()\ndef right(a):\n    '''Right?'''\n\ndef no(): ...\n"
    )
    (tmp_path / "promptls.toml").write_text('[models.office]\nprovider = "openai"\nmodel = "qwen3"\n')
    (tmp_path / "sample.yml").write_text("text: x\n")
    return tmp_path


def in_project(project: Path, fixture: str) -> list[str]:
    marked = parse(fixture)["main.yml.j2"]
    workspace = Workspace([project])
    path = str(project / "main.yml.j2")
    workspace.open(path, marked.text, 1)
    found = complete(workspace.snapshot, path, marked.cursor or 0)
    return [item.label for item in found.items] if found else []


PROJECT_HEADER = """\
{#---
functions: helpers.py
experiments:
  e: {dataset: datasets/tickets.csv}
  f: {dataset: datasets/rows.jsonl}
%s---#}
- name: a
  content: '%s'
"""


@pytest.mark.parametrize(
    ("header", "content", "expected"),
    [
        ("", "{{ <CURSOR>", ["text", "ticket", "shout"]),
        ("", "{{ ticket.<CURSOR> }}", ["title"]),
        ("", "{{ shout(<CURSOR>", ["text=", "by="]),
        ("samples: <CURSOR>\n", "", ["sample.yml"]),
        ("  g: {dataset: <CURSOR>}\n", "", ["datasets/tickets.csv", "datasets/rows.jsonl"]),
        ("  g:\n    metrics: [<CURSOR>]\n", "", ["metrics.py:right", "exact_match"]),
        ("  g:\n    models: [<CURSOR>]\n", "", ["office"]),
    ],
)
def test_files_beside_the_prompt_are_known(
    project: Path, header: str, content: str, expected: list[str]
) -> None:
    found = in_project(project, PROJECT_HEADER % (header, content))

    assert [label for label in expected if label not in found] == [], found
    assert "metrics.py:no" not in found


def test_the_keys_of_samples_are_offered_before_anything_was_rendered(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"customer": {"name": "Ada"}}')
    text = "{#---\nsamples: s.json\n---#}\n- name: a\n  content: '{{ customer.<CURSOR> }}'\n"
    snapshot, files = opened(text, tmp_path)

    found = complete(snapshot, str(tmp_path / MAIN), files[MAIN].cursor or 0)

    assert found is not None
    assert found.items[0].label == "name"


def test_an_import_offers_templates_and_nothing_else(tmp_path: Path) -> None:
    for name in ("samples.json", "notes.md", "macros.j2", "tail.yml.j2"):
        (tmp_path / name).write_text("")
    text = "{#---\nsamples: samples.json\n---#}\n{% KEYWORD '<CURSOR>' %}\n- name: a\n  content: x\n"
    offered = {}
    for keyword in ("import", "include"):
        snapshot, files = opened(text.replace("KEYWORD", keyword), tmp_path)
        found = complete(snapshot, str(tmp_path / MAIN), files[MAIN].cursor or 0)
        offered[keyword] = sorted(item.label for item in found.items) if found else []

    assert offered == {
        "import": ["macros.j2", "tail.yml.j2"],
        "include": ["macros.j2", "notes.md", "tail.yml.j2"],
    }


def test_the_options_of_a_metric_are_those_of_the_file_that_defines_it_too(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('[metrics.near]\nuse = "exact_match"\n', "utf-8")
    text = (
        "{#---\nmetrics:\n  near:\n    use: string_similarity\n    <CURSOR>\n---#}\n- name: a\n  content: b\n"
    )
    snapshot, files = opened(text, tmp_path)

    found = complete(snapshot, str(tmp_path / MAIN), files[MAIN].cursor or 0)

    assert found is not None
    assert "method" in {item.label for item in found.items}
