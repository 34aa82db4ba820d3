"""Every marked place is an occurrence of the key at the cursor, with the mark's access path."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.marked_occurrences import check_occurrences

CASES = {
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
  first: {dataset: rows.jsonl}
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
-- rows.jsonl --
{"turns": [{"role": "user", "text": "Hi"}], "text": 1}
                             ^^^^ write
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
