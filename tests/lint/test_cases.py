"""Run the cases of the rules, which are in the Markdown files of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.rule_cases import Case, all_cases, check_case

CASES = all_cases()
NAMES = [case.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_case(case: Case, tmp_path: Path) -> None:
    check_case(case, tmp_path / "project")


def test_names_of_cases_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)
