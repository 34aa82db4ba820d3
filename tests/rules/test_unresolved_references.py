"""Template names that lead nowhere: what was probably meant, and what Jinja refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import cases
from support.fixture import check_findings, check_fix

CASES = cases("unresolved_references")


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
def test_a_name_that_leads_nowhere_is_found(fixture: str) -> None:
    check_findings(fixture)


def test_files_on_disk_are_offered(tmp_path: Path) -> None:
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "history.yml.j2").write_text("- name: b\n  content: c\n")

    check_findings(
        "{% include 'sections/histroy.yml.j2' %}\n"
        "           ^^^^^^^^^^^^^^^^^^^^^^^^^ unresolved-include: there is no file `sections/histroy.yml.j2` "
        "beside this template; did you mean `sections/history.yml.j2`?\n"
        "- name: a\n  content: b\n",
        root=tmp_path,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{% include 'hstory.j2' %}\n", "{% include 'history.j2' %}\n"),
        ('{% include "./hstory.j2" %}\n', '{% include "history.j2" %}\n'),
        ("{% include 'history.j' ~ 'x' %}{% include 'hstory.j2' %}\n",
         "{% include 'history.j' ~ 'x' %}{% include 'history.j2' %}\n"),
        ("{% from 'hstory.j2' import a %}\n{{ a() }}\n", "{% from 'history.j2' import a %}\n{{ a() }}\n"),
        ("{% include '../project/history.j2' %}\n", "{% include 'history.j2' %}\n"),
        ("{% include 'sections\\\\deep.j2' %}\n", "{% include 'sections/deep.j2' %}\n"),
    ],
)  # fmt: skip
def test_the_name_that_is_meant_can_be_taken(before: str, after: str) -> None:
    part = "- name: a\n  content: b\n"
    others = f"-- history.j2 --\n{part}-- sections/deep.j2 --\n{part}"

    check_fix(f"{before}{part}{others}", f"{after}{part}{others}")
