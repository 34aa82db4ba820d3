from __future__ import annotations

import pytest

from promptls.text.format import plural


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        *((0, "token", "0 tokens"), (1, "fix", "1 fix"), (2, "fix", "2 fixes"), (1234, "row", "1,234 rows")),
        *((0.5, "second", "0.5 seconds"), (1.0, "second", "1 second")),
    ],
)
def test_a_noun_is_in_the_plural_but_for_one(number: float, noun: str, text: str) -> None:
    assert plural(number, noun) == text
