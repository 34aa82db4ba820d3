"""Equal values have the same canonical text."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from promptls.semantic.types.schemas import canonical_text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        ({None: 1, "a": 2, 3: 4}, {3: 4, None: 1, "a": 2}, True),
        ({dt.date(2024, 1, 2): 1}, {dt.date(2024, 1, 2): 1}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": 1}, {"a": True}, False),
        ({"1": "a"}, {1: "a"}, False),
        (["a,b"], ["a", "b"], False),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, False),
    ],
)
def test_equal_values_share_a_text_and_others_do_not(one: Any, other: Any, same: bool) -> None:
    assert (canonical_text(one) == canonical_text(other)) is same
