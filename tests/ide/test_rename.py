from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.rename import prepare_steps, rename_steps
from promptls.text.steps import finish
from support.fixture import MAIN, opened, parse
from support.renaming import applied, cursor_of, workspace_of


def check_rename(before: str, new: str, after: str, root: Path) -> None:
    """Assert that the rename turns the files of one fixture into those of the other, and back."""
    snapshot, files = opened(before, root)
    place = path, offset = cursor_of(root, files)
    old = finish(prepare_steps(snapshot, path, offset))
    assert old is not None
    renamed = applied(snapshot, files, place, new)
    assert renamed == {name: marked.text for name, marked in parse(after).items()}
    first = min(
        edit.span.start for edit in finish(rename_steps(snapshot, path, offset, new)) if edit.path == path
    )
    back = applied(workspace_of(root, renamed), files, (path, first + 1), old.name)
    assert back == {name: marked.text for name, marked in files.items()}


CASES = {
    "an input everywhere it stands": (
        """\
{#---
samples: samples.yml
input_keys: {text: {type: string}, other: {}}
examples:
  - {text: "text", other: text}
experiments:
  first: {dataset: rows.csv}
---#}
- name: text
  content: "{{ te<CURSOR>xt | trim }} text"
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ text }}{{ a.text }}"
-- app.py --
import promptls
prompt = Prompt(template_path="main.yml.j2", template_data={"text": "text", "other": text})
promptls.load("main.yml.j2").render(text=text, other="text")
-- rows.csv --
text,id
text,1
-- samples.yml --
text: text
""",
        "ticket",
        """\
{#---
samples: samples.yml
input_keys: {ticket: {type: string}, other: {}}
examples:
  - {ticket: "text", other: text}
experiments:
  first: {dataset: rows.csv}
---#}
- name: text
  content: "{{ ticket | trim }} text"
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ ticket }}{{ a.text }}"
-- app.py --
import promptls
prompt = Prompt(template_path="main.yml.j2", template_data={"ticket": "text", "other": text})
promptls.load("main.yml.j2").render(ticket=text, other="text")
-- rows.csv --
ticket,id
text,1
-- samples.yml --
ticket: text
""",
    ),
    "a column that an experiment in Python reads too": (
        """\
{#---
experiments:
  first: {dataset: rows.csv}
---#}
- name: a
  content: "{{ te<CURSOR>xt }}"
-- rows.csv --
text,id
text,1
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"], "other": row.get("text"), "id": row["id"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
-- other.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"]}
rows = Dataset.load(name="others", backend="local/csv", root_dir=".")
""",
        "ticket",
        """\
{#---
experiments:
  first: {dataset: rows.csv}
---#}
- name: a
  content: "{{ ticket }}"
-- rows.csv --
ticket,id
text,1
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["ticket"], "other": row.get("ticket"), "id": row["id"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
-- other.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"text": row["text"]}
rows = Dataset.load(name="others", backend="local/csv", root_dir=".")
""",
    ),
    "a loop variable and nothing beside its loop": (
        """\
{% for turn in turns %}
- name: a
  content: "{{ t<CURSOR>urn.said }}"
{% endfor %}
- name: b
  content: "{{ turn }}"
""",
        "message",
        """\
{% for message in turns %}
- name: a
  content: "{{ message.said }}"
{% endfor %}
- name: b
  content: "{{ turn }}"
""",
    ),
    "a macro in its importers, but not where it has another name": (
        """\
{% macro gre<CURSOR>et(name) %}{{ name }}{% endmacro %}
-- first.yml.j2 --
{% from 'main.yml.j2' import greet %}
- name: a
  content: "{{ greet(1) }}"
-- second.yml.j2 --
{% from 'main.yml.j2' import greet as hello %}
- name: a
  content: "{{ hello(greet) }}"
-- third.yml.j2 --
{% import 'main.yml.j2' as tools %}
- name: a
  content: "{{ tools.greet(1) }}"
""",
        "welcome",
        """\
{% macro welcome(name) %}{{ name }}{% endmacro %}
-- first.yml.j2 --
{% from 'main.yml.j2' import welcome %}
- name: a
  content: "{{ welcome(1) }}"
-- second.yml.j2 --
{% from 'main.yml.j2' import welcome as hello %}
- name: a
  content: "{{ hello(greet) }}"
-- third.yml.j2 --
{% import 'main.yml.j2' as tools %}
- name: a
  content: "{{ tools.welcome(1) }}"
""",
    ),
    "a block where it is overridden": (
        """\
{% block rules %}{% endblock ru<CURSOR>les %}
- name: a
  content: x
-- child.yml.j2 --
{% extends 'main.yml.j2' %}
{% block rules %}{{ rules }}{% endblock %}
""",
        "manners",
        """\
{% block manners %}{% endblock manners %}
- name: a
  content: x
-- child.yml.j2 --
{% extends 'main.yml.j2' %}
{% block manners %}{{ rules }}{% endblock %}
""",
    ),
    "a part": (
        "- name: gre<CURSOR>eting\n  content: greeting\n",
        "my part",
        "- name: my part\n  content: greeting\n",
    ),
    "a part in quotes": (
        "- name: 'gre<CURSOR>eting'\n  content: x\n",
        "it's",
        "- name: 'it''s'\n  content: x\n",
    ),
    "a parameter": (
        """\
{% macro greet(name, ma<CURSOR>rk='!') %}{{ name ~ mark }}{% endmacro %}
- name: a
  content: "{{ greet(mark, mark='?') }}"
""",
        "sign",
        """\
{% macro greet(name, sign='!') %}{{ name ~ sign }}{% endmacro %}
- name: a
  content: "{{ greet(mark, sign='?') }}"
""",
    ),
    "an attribute of a namespace": (
        """\
{% set ns = namespace(count=0) %}
{% set ns.count = ns.co<CURSOR>unt + 1 %}
- name: a
  content: "{{ ns.count }}{{ other.count }}"
""",
        "turns",
        """\
{% set ns = namespace(turns=0) %}
{% set ns.turns = ns.turns + 1 %}
- name: a
  content: "{{ ns.turns }}{{ other.count }}"
""",
    ),
}


@pytest.mark.parametrize(("before", "new", "after"), CASES.values(), ids=CASES.keys())
def test_a_rename_and_the_rename_back(before: str, new: str, after: str, tmp_path: Path) -> None:
    check_rename(before, new, after, tmp_path)


def test_a_part_name_that_yaml_would_read_as_something_else_is_quoted(tmp_path: Path) -> None:
    snapshot, files = opened("- name: gre<CURSOR>eting\n  content: x\n", tmp_path)
    place = cursor_of(tmp_path, files)

    assert applied(snapshot, files, place, "a: b")[MAIN] == '- name: "a: b"\n  content: x\n'
    assert applied(snapshot, files, place, "12")[MAIN] == '- name: "12"\n  content: x\n'


def test_changes_of_data_and_calls_that_the_prompt_leads_to_are_certain(tmp_path: Path) -> None:
    snapshot, files = opened(CASES["an input everywhere it stands"][0], tmp_path)

    edits = finish(rename_steps(snapshot, *cursor_of(tmp_path, files), "ticket"))

    assert {"app.py", "rows.csv", "samples.yml"} < {Path(edit.path).name for edit in edits}
    assert not any(edit.needs_review for edit in edits)


ROWS_OF_TWO = """\
{#---
input_keys: [te<CURSOR>xt]
experiments:
  e: {dataset: rows.csv}
---#}
- name: a
  content: "{{ text }}"
-- rows.csv --
text,label
a,b
-- evals.py --
from promptls import Dataset, experiment
@experiment()
async def triage(row, prompt_file):
    return {"x": row["text"]}
rows = Dataset.load(name="rows", backend="local/csv", root_dir=".")
MORE
"""


@pytest.mark.parametrize(
    ("more", "suspicious"),
    [
        ("", set()),
        ('others = Dataset.load(name="others", backend="local/csv", root_dir=".")', {"evals.py"}),
    ],
    ids=["one dataset", "two datasets"],
)
def test_rows_that_may_be_of_another_data_set_need_a_review(
    more: str, suspicious: set[str], tmp_path: Path
) -> None:
    snapshot, files = opened(ROWS_OF_TWO.replace("MORE", more), tmp_path)

    edits = finish(rename_steps(snapshot, *cursor_of(tmp_path, files), "ticket"))

    assert {"evals.py", "rows.csv"} < {Path(edit.path).name for edit in edits}
    assert {Path(edit.path).name for edit in edits if edit.needs_review} == suspicious
