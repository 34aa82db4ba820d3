"""What only the names of blocks, parameters, arguments and loops tell to be wrong."""

from __future__ import annotations

import pytest

from support.cases import cases
from support.fixture import check_findings, check_fix

CASES = cases("blocks")


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
def test_what_is_said_of_names(fixture: str) -> None:
    check_findings(fixture)


FIXES = {
    "an end": (
        "{% block a %}\n- name: b\n  content: c\n{% endblock d %}\n",
        "{% block a %}\n- name: b\n  content: c\n{% endblock a %}\n",
        "Change to `a`",
    ),
    "a call": (
        "{% macro a() %}{{ caller() }}{% endmacro %}\n- name: b\n  content: '{% call a %}c{% endcall %}'\n",
        "{% macro a() %}{{ caller() }}{% endmacro %}\n- name: b\n  content: '{% call a() %}c{% endcall %}'\n",
        "Insert `()`",
    ),
    "a loop": (
        "- name: b\n  content: '{% for n in m %}{{ loop(n) }}{% endfor %}'\n",
        "- name: b\n  content: '{% for n in m recursive %}{{ loop(n) }}{% endfor %}'\n",
        "Make the loop `recursive`",
    ),
    "a namespace": (
        "{% set a = {'b': 1} %}{% set a.b = 2 %}\n- name: b\n  content: '{{ a.b }}'\n",
        "{% set a = namespace({'b': 1}) %}{% set a.b = 2 %}\n- name: b\n  content: '{{ a.b }}'\n",
        "Make it a `namespace`",
    ),
}


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_it_right(before: str, after: str, title: str) -> None:
    check_fix(before, after, title)
