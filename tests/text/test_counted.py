from __future__ import annotations

import pytest

from promptls.text.counted import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(0, "token", "0 tokens"), (1, "fix", "1 fix"), (2, "fix", "2 fixes"), (1234, "row", "1,234 rows")],
)
def test_a_noun_is_in_the_plural_but_for_one(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text
