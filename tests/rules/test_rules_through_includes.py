"""Findings that need the files around a file: who includes it, and what it includes."""

from __future__ import annotations

import pytest

from support.cases import cases
from support.fixture import check_findings, check_fix

CASES = cases("through_includes")


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
def test_files_are_judged_with_those_around_them(fixture: str) -> None:
    check_findings(fixture)


def test_an_input_of_a_section_can_be_declared_where_it_is_included() -> None:
    check_fix(
        "{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: {{ text }}\n{% include 's.yml.j2' %}\n"
        "-- s.yml.j2 --\n- name: b\n  content: {{ locale }}\n",
        "{#---\ninput_keys: [text, locale]\n---#}\n- name: a\n  content: {{ text }}\n"
        "{% include 's.yml.j2' %}\n",
        "Add `locale` to `input_keys`",
    )
