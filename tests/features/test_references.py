"""Every marked place is an occurrence of the symbol at the cursor, and there is no other one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.features.symbols import occurrence_steps, symbol_at
from support.fixture import opened
from support.marked_occurrences import check_occurrences

CASES = {
    "an input in tags, declaration and examples": """\
{#---
input_keys:
  user: {type: string}
  ^^^^ declaration
examples:
  - user: Ada
    ^^^^ write
---#}
- name: user
  content: "{{ us<CURSOR>er }} {{ user.name }}"
               ^^^^ read
                          ^^^^ read
- name: b
  content: "{% if user %}{{ other.user }}{% endif %}"
                  ^^^^ read
  expected_template_data_keys: [user]
                                ^^^^ write
""",
    "a list of quoted input keys": """\
{#---
input_keys: ["user", 'other']
              ^^^^ declaration
---#}
- name: a
  content: "{{ <CURSOR>user }}{{ other }}"
               ^^^^ read
""",
    "a loop variable ends with its loop": """\
- name: a
  content: "{{ turn }}"
{% for turn in turns if turn.said %}
       ^^^^ write
                        ^^^^ read
- name: b
  content: "{{ t<CURSOR>urn.said }}"
               ^^^^ read
{% endfor %}
- name: c
  content: "{{ turn }}"
""",
    "every binding of a scope, in branches too": """\
{% set tone = "calm" %}
       ^^^^ write
{% if angry %}
{% set <CURSOR>tone = "sharp" %}
       ^^^^ write
{% endif %}
- name: a
  content: "{{ tone }}"
               ^^^^ read
{% for tone in tones %}
- name: b
  content: "{{ tone }}"
{% endfor %}
""",
    "what is bound on some ways only is the caller's too": """\
{#---
input_keys: [tone]
             ^^^^ declaration
---#}
{% if angry %}{% set tone = "sharp" %}{% endif %}
                     ^^^^ write
- name: a
  content: "{{ to<CURSOR>ne }}"
               ^^^^ read
""",
    "what is read ahead of its binding is another variable": """\
{% set tone = tone | trim %}
       ^^^^ write
- name: a
  content: "{{ <CURSOR>tone }}"
               ^^^^ read
""",
    "a parameter with its keyword arguments, in importers too": """\
{% import 'macros.yml.j2' as tools %}
{% from 'macros.yml.j2' import greet as hello %}
- name: a
  content: "{{ tools.greet(mark='?') }}{{ hello('x', mark='.') }}{{ other(mark=1) }}"
                           ^^^^ read
                                                     ^^^^ read
-- macros.yml.j2 --
{% macro greet(name, m<CURSOR>ark='!') %}{{ name }}{{ mark }}{{ greet(mark=mark) }}{% endmacro %}
                     ^^^^ declaration
                                              ^^^^ read
                                                              ^^^^ read
                                                                   ^^^^ read
{{ mark }}
""",
    "a macro, its importers and their attributes": """\
{% import 'macros.yml.j2' as tools %}
{% from 'macros.yml.j2' import greet, other %}
                               ^^^^^ declaration
- name: a
  content: "{{ tools.greet() }}{{ gr<CURSOR>eet() }}{{ greet2() }}{{ other.greet }}"
                     ^^^^^ read
                                  ^^^^^ read
-- macros.yml.j2 --
{% macro greet() %}{% endmacro %}
         ^^^^^ declaration
{% macro other() %}{{ greet() }}{% endmacro %}
                      ^^^^^ read
""",
    "a name that is imported under another one stays its own": """\
{% from 'macros.yml.j2' import greet as hello %}
                                        ^^^^^ declaration
- name: a
  content: "{{ <CURSOR>hello() }}"
               ^^^^^ read
-- macros.yml.j2 --
{% macro greet() %}{% endmacro %}
""",
    "the alias of an import": """\
{% import 'macros.yml.j2' as tools %}
                             ^^^^^ declaration
- name: a
  content: "{{ <CURSOR>tools.greet() }}"
               ^^^^^ read
-- macros.yml.j2 --
{% macro greet() %}{% endmacro %}
""",
    "an input of a section is what each includer has at that place": """\
{#---
input_keys: [turns]
---#}
{% for turn in turns %}
       ^^^^ write
{% include 'part.yml.j2' %}
{% endfor %}
- name: a
  content: "{{ turn }}"
-- other.yml.j2 --
{#---
input_keys: [turn]
             ^^^^ declaration
---#}
- name: a
  content: x
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ <CURSOR>turn }}"
               ^^^^ read
""",
    "through a file in between that does not name it": """\
{% set tone = 1 %}
       ^^^^ write
- name: a
  content: x
{% include 'middle.yml.j2' %}
-- middle.yml.j2 --
- name: m
  content: x
{% include 'part.yml.j2' %}
-- part.yml.j2 --
- name: b
  content: "{{ <CURSOR>tone }}"
               ^^^^ read
""",
    "an imported file without context sees nothing of its importer": """\
{% set tone = 1 %}
{% import 'part.yml.j2' as tools %}
- name: a
  content: x
-- part.yml.j2 --
{% macro say() %}{{ <CURSOR>tone }}{% endmacro %}
                    ^^^^ read
""",
    "blocks of a family of templates": """\
{% extends 'base.yml.j2' %}
{% block rules %}
         ^^^^^ declaration
- name: a
  content: "{{ rules }}"
{% endblock r<CURSOR>ules %}
            ^^^^^ read
-- base.yml.j2 --
{% block rules %}{% endblock %}{{ self.rules() }}
         ^^^^^ declaration
                                       ^^^^^ read
- name: b
  content: x
-- second.yml.j2 --
{% extends 'base.yml.j2' %}
{% block rules %}{% endblock %}
         ^^^^^ declaration
""",
    "a file": """\
{% include 'part.yml.j2' %}
            ^^^^^^^^^^^ read
- name: a
  content: x
{% from "./pa<CURSOR>rt.yml.j2" import x %}
         ^^^^^^^^^^^^^ read
-- part.yml.j2 --
- name: b
  content: x
""",
    "parts of one name in two branches": """\
{% if x %}
- name: greeting
        ^^^^^^^^ declaration
  content: greeting
{% else %}
- name: "gre<CURSOR>eting"
         ^^^^^^^^ declaration
  content: b
{% endif %}
- name: other
  sections:
    - {name: greeting, content: x}
""",
    "the data that a Python call passes": """\
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- app.py --
from prompt_poet import Prompt

data = {"other": "ä", 'user': "user"}
                       ^^^^ write
first = Prompt(template_path="main.yml.j2", template_data=data)
second = Prompt(template_path="main.yml.j2", template_data=dict(user=1, name="user"))
                                                                ^^^^ write
third = Prompt(template_path="other.yml.j2", template_data={"user": 1})
""",
    "what a program gives to the library": """\
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- app.py --
import promptls

prompt = promptls.load("main.yml.j2", token_limit=100)
user = "ä"
first = prompt.render(other="user", user=user)
                                    ^^^^ write
second = promptls.load("main.yml.j2").render({"user": 1}, other=user)
                                               ^^^^ write
third = promptls.load("other.yml.j2").render(user=1)
""",
    "an input of another prompt on the same data set": """\
{#---
experiments: {e: {dataset: rows.csv}}
---#}
- name: a
  content: "{{ us<CURSOR>er }}"
               ^^^^ read
-- rows.csv --
id,user
   ^^^^ write
-- second.yml.j2 --
{#---
experiments: {e: {dataset: rows.csv}}
input_keys: [user]
             ^^^^ declaration
---#}
- name: a
  content: x
-- third.yml.j2 --
{#---
experiments: {e: {dataset: other.csv}}
---#}
- name: a
  content: "{{ user }} rows.csv"
""",
    "a column of an evaluation prompt": """\
infer_cfg:
  ice_template:
    type: PromptTemplate
    template: "</E>Q: {question}"
                       ^^^^^^^^ read
    ice_token: "</E>"
  prompt_template:
    type: PromptTemplate
    template:
      round:
        - {role: HUMAN, prompt: "</E>{quest<CURSOR>ion} {other}"}
                                      ^^^^^^^^ read
  retriever: {type: FixKRetriever, fix_id_list: [0]}
reader_cfg:
  input_columns: [question, other]
                  ^^^^^^^^ declaration
  output_column: answer
experiments: {e: {dataset: rows.csv}}
-- rows.csv --
question,answer
^^^^^^^^ write
""",
    "while a block is open": """\
{% set tone = 1 %}
       ^^^^ write
{% if x %}
- name: a
  content: "{{ <CURSOR>tone }} {{ user. }} {{ tone"
               ^^^^ read
                                      ^^^^ read
""",
    "jinja's own variable of a loop": """\
{% for a in b %}
- name: a
  content: "{{ lo<CURSOR>op.index }}{{ loop.first }}"
               ^^^^ read
                               ^^^^ read
{% endfor %}
""",
    "a key in tags, its schema, examples, samples, rows and Python calls": """\
{#---
input_keys:
  customer:
    type: object
    properties:
      name: {type: string}
      ^^^^ declaration
      id: {type: string}
    required: [id, name]
                   ^^^^ write
samples: samples.json
examples:
  - customer: {name: Ada, id: 3}
               ^^^^ write
    name: other
experiments:
  first: {dataset: rows.jsonl}
---#}
- name: name
  content: "{{ customer.na<CURSOR>me }} {{ customer['name'] }} {{ name }} {{ other.name }} {{ customer.id }}"
                        ^^^^ read
                                             ^^^^ read
{% set c = customer %}
- name: b
  content: "{% if c.get('name') %}{{ c.name }}{% endif %}"
                         ^^^^ read
                                       ^^^^ read
-- app.py --
import promptls
promptls.load("main.yml.j2").render(customer={"name": 1, "id": 2}, name="x")
                                               ^^^^ write
-- rows.jsonl --
{"customer": {"name": "Bo", "id": "4"}, "name": 1}
               ^^^^ write
-- samples.json --
{"first": {"customer": {"name": "Bo"}, "name": 1}}
                         ^^^^ write
""",
    "a key of the elements of a list, through an include and a filter": """\
{#---
examples:
  - history:
      - {role: user, content: Hi}
                     ^^^^^^^ write
      - content: Ho
        ^^^^^^^ write
---#}
{% for message in history if message.content %}
                                     ^^^^^^^ read
{% include 'turn.yml.j2' %}
{% endfor %}
- name: a
  content: "{{ history[0].content }}{{ history | map(attribute='content') | join }}"
                          ^^^^^^^ read
                                                                ^^^^^^^ read
-- turn.yml.j2 --
- name: turn
  content: "{{ message.con<CURSOR>tent }}{{ turn.content }}"
                       ^^^^^^^ read
""",
    "a key of values that a macro, its call block and an imported macro are given": """\
{% from 'tools.yml.j2' import card as shown %}
{% macro each(people) %}
{% for person in people %}
{{ caller(person) }}{{ person.name }}
                              ^^^^ read
{% endfor %}
{% endmacro %}
- name: a
  content: "{% call(one) each(users) %}{{ one.name }}{% endcall %}"
                                              ^^^^ read
- name: c
  content: "{{ shown(users[0]) }}{{ users[1].na<CURSOR>me }}"
                                             ^^^^ read
{% macro other(person) %}{{ person.name }}{% endmacro %}
- name: b
  content: "{{ other(boss) }}"
-- tools.yml.j2 --
{% macro card(who, size=1) %}{{ who.name }}{% endmacro %}
                                    ^^^^ read
""",
    "a key of elements that filters put into pieces, groups and pairs": """\
{#---
samples: samples.json
experiments:
  first: {dataset: rows.csv}
---#}
{% set groups = turns | groupby('role') %}
{% for role, those in groups %}
- name: a
  content: |
    {% for row in those | batch(2) %}{% for turn in row %}{{ turn.te<CURSOR>xt }}{% endfor %}{% endfor %}
                                                                  ^^^^ read
{% endfor %}
{% for group in groups %}
- name: b
  content: "{{ group.list[0].text }}{{ group.text }}{{ (turns | last).text }}"
                             ^^^^ read
                                                                      ^^^^ read
{% endfor %}
{% for key, found in {}.items() %}
- name: c
  content: "{{ found.text }}{{ (turns | map(attribute='by') | first).text }}"
{% endfor %}
-- rows.csv --
id,turns,text
1,"[{""role"": ""user"", ""text"": ""Hi""}]",text
                           ^^^^ write
2,not read: text,x
-- samples.json --
{"turns": [{"text": "Hi"}], "text": 1}
             ^^^^ write
""",
    "an attribute of a namespace, and not that of another one": """\
{% set ns = namespace(count=0, other=1) %}
                      ^^^^^ declaration
{% set more = namespace(count=1) %}
{% for turn in turns %}
{% set ns.count = ns.co<CURSOR>unt + 1 %}
          ^^^^^ write
                     ^^^^^ read
{% endfor %}
- name: a
  content: "{{ ns.count }}{{ more.count }}{{ ns.other }}{{ turns.count }}"
                  ^^^^^ read
""",
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_the_marked_places_are_all_occurrences(fixture: str, tmp_path: Path) -> None:
    check_occurrences(fixture, tmp_path)


def test_keys_of_samples_and_columns_of_data_sets_are_occurrences_of_an_input(
    tmp_path: Path,
) -> None:
    rows = [json.dumps({"text": 1, "user": {"user": 2}}), json.dumps({"user": 3})]
    fixture = f"""\
{{#---
samples: samples.yml
experiments:
  first: {{dataset: rows.csv}}
  second: {{dataset: rows.jsonl}}
---#}}
- name: a
  content: "{{{{ us<CURSOR>er }}}}"
               ^^^^ read
-- rows.csv --
id,"user",user_name
    ^^^^ write
1,"user",x
-- rows.jsonl --
{rows[0]}
             ^^^^ write
{rows[1]}
  ^^^^ write
-- samples.yml --
ada:
  user: {{user: 1}}
  ^^^^ write
bob: {{"user": 2}}
       ^^^^ write
"""
    check_occurrences(fixture, tmp_path)


def test_an_input_that_is_declared_and_never_read_is_found_in_its_declaration(tmp_path: Path) -> None:
    fixture = """\
{#---
input_keys: [us<CURSOR>er]
             ^^^^ declaration
---#}
- name: a
  content: x
"""
    check_occurrences(fixture, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "- name: a\n  content: pl<CURSOR>ain\n",
        "- na<CURSOR>me: a\n  content: x\n",
        "{% set m = 1 %}{% for user in [1] %}{{ user.na<CURSOR>me }}{% endfor %}\n- name: a\n  content: x\n",
        "- name: a\n  content: '{{ user | tri<CURSOR>m }}'\n",
        "{% include 'nowh<CURSOR>ere' %}\n- name: a\n  content: x\n",
    ],
)
def test_there_is_no_symbol_elsewhere(text: str) -> None:
    snapshot, files = opened(text)
    marked = files["main.yml.j2"]
    assert marked.cursor is not None

    assert symbol_at(snapshot, "/project/main.yml.j2", marked.cursor) is None


def test_places_are_told_while_further_files_are_searched(tmp_path: Path) -> None:
    fixture = "{% include 'part.yml.j2' %}\n- name: a\n  content: '{{ us<CURSOR>er }}'\n-- part.yml.j2 --\n"
    snapshot, files = opened(f"{fixture}- name: b\n  content: '{{{{ user }}}}'\n", tmp_path)
    path, cursor = str(tmp_path / "main.yml.j2"), files["main.yml.j2"].cursor
    assert cursor is not None
    symbol = symbol_at(snapshot, path, cursor)
    assert symbol is not None
    told: list[str] = []

    steps = occurrence_steps(snapshot, symbol, tell=lambda found: told.extend(each.path for each in found))
    found_behind_a_step = [len(told) for _ in steps]

    assert 1 in found_behind_a_step
    assert [Path(each).name for each in told] == ["main.yml.j2", "part.yml.j2"]
