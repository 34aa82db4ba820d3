"""What the rule about declared types says, case by case."""

from __future__ import annotations

import pytest

from support.cases import cases
from support.fixture import check_findings

CASES = cases("input_types")


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
def test_uses_are_held_to_declared_types(fixture: str) -> None:
    check_findings(fixture, "input-type-mismatch")
