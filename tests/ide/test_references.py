"""Every marked place, and no other one, is an occurrence of the variable at the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.symbols import symbol_at
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
    "a block without scoped does not see a loop around it": """\
{% for turn in turns %}
       ^^^^ write
{% block plain %}
- name: a
  content: "{{ turn }}"
{% endblock %}
{% block seeing scoped %}
- name: b
  content: "{{ t<CURSOR>urn.said }}"
               ^^^^ read
{% endblock %}
{% endfor %}
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
    "what is read before its binding is another variable": """\
{% set tone = tone | trim %}
       ^^^^ write
- name: a
  content: "{{ <CURSOR>tone }}"
               ^^^^ read
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
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_the_marked_places_are_all_occurrences(fixture: str, tmp_path: Path) -> None:
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
