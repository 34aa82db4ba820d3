"""Every marked place in all files of a prompt is an occurrence of the symbol at the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.symbols import occurrence_steps, symbol_at
from support.fixture import opened
from support.marked_occurrences import check_occurrences

CASES = {
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
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES.keys())
def test_the_marked_places_are_all_occurrences(fixture: str, tmp_path: Path) -> None:
    check_occurrences(fixture, tmp_path)


def test_locations_are_reported_while_further_files_are_searched(tmp_path: Path) -> None:
    fixture = "{% include 'part.yml.j2' %}\n- name: a\n  content: '{{ us<CURSOR>er }}'\n-- part.yml.j2 --\n"
    snapshot, files = opened(f"{fixture}- name: b\n  content: '{{{{ user }}}}'\n", tmp_path)
    path, cursor = str(tmp_path / "main.yml.j2"), files["main.yml.j2"].cursor
    assert cursor is not None
    symbol = symbol_at(snapshot, path, cursor)
    assert symbol is not None
    reported: list[str] = []

    steps = occurrence_steps(
        snapshot, symbol, report=lambda found: reported.extend(each.path for each in found)
    )
    found_behind_a_step = [len(reported) for _ in steps]

    assert 1 in found_behind_a_step
    assert [Path(each).name for each in reported] == ["main.yml.j2", "part.yml.j2"]
