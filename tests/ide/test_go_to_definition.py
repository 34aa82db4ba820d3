"""From the cursor to the marked places: definitions are marked `to`, declarations `said`."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.navigation import Target, declaration_steps, definition_steps
from promptls.ide.ranges import highlights
from promptls.text.positions import Span
from promptls.text.steps import finish
from support.fixture import MAIN, opened

CASES = {
    "the binding that is meant": """\
{% set tone = 1 %}
{% set tone = 2 %}
       ^^^^ to
       ^^^^ said
- name: a
  content: "{{ to<CURSOR>ne }}"
{% set tone = 3 %}
""",
    "a loop variable": """\
{% for turn in turns %}
       ^^^^ to
       ^^^^ said
- name: a
  content: "{{ tu<CURSOR>rn }}"
{% endfor %}
""",
    "the declaration of an input": """\
{#---
input_keys:
  user: {type: string}
  ^^^^ to
  ^^^^ said
---#}
- name: a
  content: "{{ us<CURSOR>er }}"
""",
    "the declaration in the template that includes the section": """\
- name: a
  content: "{{ us<CURSOR>er }}"
-- entry.yml.j2 --
{#---
input_keys: [user]
             ^^^^ to
             ^^^^ said
---#}
- name: b
  content: x
{% include 'main.yml.j2' %}
""",
    "what the including template binds": """\
- name: a
  content: "{{ us<CURSOR>er }}"
-- entry.yml.j2 --
{% for user in users %}
       ^^^^ to
       ^^^^ said
{% include 'main.yml.j2' %}
{% endfor %}
""",
    "where Python passes an input that nothing declares": """\
- name: a
  content: "{{ us<CURSOR>er }}"
-- app.py --
Prompt(template_path="main.yml.j2", template_data={"user": 1})
                                                    ^^^^ to
                                                    ^^^^ said
""",
    "the macro after an import, and the import": """\
{% from 'tools.yml.j2' import greet as hello %}
                                       ^^^^^ said
- name: a
  content: "{{ hel<CURSOR>lo() }}"
-- tools.yml.j2 --
{% macro greet() %}{% endmacro %}
         ^^^^^ to
""",
    "the macro after an import that keeps its name": """\
{% from 'tools.yml.j2' import greet %}
                              ^^^^^ said
- name: a
  content: "{{ gre<CURSOR>et() }}"
-- tools.yml.j2 --
{% macro greet() %}{% endmacro %}
         ^^^^^ to
""",
    "the macro of a module": """\
{% import 'tools.yml.j2' as tools %}
- name: a
  content: "{{ tools.gre<CURSOR>et() }}"
-- tools.yml.j2 --
{% macro greet() %}{% endmacro %}
         ^^^^^ to
         ^^^^^ said
""",
    "the parameter that an argument is for": """\
{% macro greet(name, mark='!') %}{% endmacro %}
                     ^^^^ to
                     ^^^^ said
- name: a
  content: "{{ greet(1, ma<CURSOR>rk='?') }}"
""",
    "a block in the whole family": """\
{% extends 'base.yml.j2' %}
{% block ru<CURSOR>les %}{% endblock %}
         ^^^^^ to
         ^^^^^ said
-- base.yml.j2 --
{% block rules %}{% endblock %}
         ^^^^^ to
         ^^^^^ said
- name: b
  content: x
""",
    "a function of the functions file": """\
{#---
functions: helpers.py
---#}
- name: a
  content: "{{ sho<CURSOR>rten('x') }}"
-- helpers.py --
def shorten(text):
    ^^^^^^^ to
    ^^^^^^^ said
    return text
""",
    "the function of a metric": """\
{#---
experiments:
  first: {dataset: rows.csv, metrics: [metrics.py:exa<CURSOR>ct]}
---#}
- name: a
  content: x
-- metrics.py --
@discrete_metric()
def exact(row):
    ^^^^^ to
    ^^^^^ said
    return 1
""",
    "nothing for what is Jinja's own": """\
{% for a in b %}
- name: a
  content: "{{ lo<CURSOR>op.index }}"
{% endfor %}
""",
    "nothing for an input that nobody gives": """\
- name: a
  content: "{{ us<CURSOR>er }}"
""",
    "the schema of a key": """\
{#---
input_keys:
  user: {type: object, properties: {name: {type: string}}}
                                    ^^^^ to
                                    ^^^^ said
examples:
  - user: {name: Ada}
---#}
- name: a
  content: "{{ user['na<CURSOR>me'] }}"
""",
    "the first example that has a key of a list's elements": """\
{#---
examples:
  - turns: [{said: a}, {said: b}]
             ^^^^ to
             ^^^^ said
---#}
{% for turn in turns %}
- name: a
  content: "{{ turn.sa<CURSOR>id }}"
{% endfor %}
""",
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_a_symbol_leads_to_where_it_comes_from(fixture: str, tmp_path: Path) -> None:
    snapshot, files = opened(fixture, tmp_path)
    cursor = files[MAIN].cursor
    assert cursor is not None

    def shown(found: tuple[Target, ...]) -> set[tuple[str, Span]]:
        return {(Path(target.path).name, target.span) for target in found}

    def marked(label: str) -> set[tuple[str, Span]]:
        return {
            (name, mark.span) for name, file in files.items() for mark in file.marks if mark.label == label
        }

    path = str(tmp_path / MAIN)
    assert shown(finish(definition_steps(snapshot, path, cursor))) == marked("to")
    assert shown(finish(declaration_steps(snapshot, path, cursor))) == marked("said")


@pytest.mark.parametrize(
    "fixture",
    [
        "{% include 'pa<CURSOR>rt.yml.j2' %}\n- name: a\n  content: x\n",
        "{% import 'part.yml.j2' as pa<CURSOR>rt %}\n- name: a\n  content: x\n",
        "{#---\nsamples: pa<CURSOR>rt.yml.j2\n---#}\n- name: a\n  content: x\n",
    ],
)
def test_a_file_that_is_named_leads_to_its_beginning(fixture: str) -> None:
    snapshot, files = opened(f"-- {MAIN} --\n{fixture}-- part.yml.j2 --\n- name: b\n  content: x\n")
    cursor = files[MAIN].cursor
    assert cursor is not None

    (target,) = finish(definition_steps(snapshot, f"/project/{MAIN}", cursor))

    assert (Path(target.path).name, target.span) == ("part.yml.j2", (0, 0))


def test_the_words_of_a_block_are_highlighted_together() -> None:
    text = "{% if x %}\n- name: a\n  content: x\n{% elif y %}\n{% else %}\n{% endif %}\n"
    snapshot, _ = opened(text)

    found = highlights(snapshot, f"/project/{MAIN}", text.index("elif") + 1)

    assert [text[each.span.start : each.span.end] for each in found] == ["if", "elif", "else", "endif"]
    assert {each.kind for each in found} == {"text"}
