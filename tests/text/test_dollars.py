from __future__ import annotations

import pytest

from promptls.text.format import in_dollars


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "$0"),
        (1234.5, "$1,234.50"),
        (1, "$1.00"),
        (0.5, "$0.50"),
        (0.1, "$0.10"),
        (0.0042, "$0.0042"),
        (0.0000001, "$0.00000010"),
    ],
)
def test_small_amounts_keep_two_significant_digits(amount: float, words: str) -> None:
    assert in_dollars(amount) == words
