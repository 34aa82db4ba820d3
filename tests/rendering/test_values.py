"""Values and outcomes survive the round trip through JSON."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.rendering.job import pack, plain, unpack
from promptls.rendering.outcome import (
    RenderedPart,
    RenderedSection,
    RenderFailure,
    Rendering,
    packed_outcome,
    unpacked_outcome,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
SCALARS |= st.dates() | st.datetimes()
KEYS = st.text() | st.integers() | st.sampled_from(["$map", "$date", "$"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=12)


@given(VALUES)
def test_yaml_values_round_trip(value: Any) -> None:
    assert unpack(json.loads(json.dumps(pack(value)))) == value


def test_a_value_that_contains_itself_is_rejected() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself"):
        pack(value)


def test_what_json_lacks_is_shown_as_text() -> None:
    assert plain({1: dt.date(2024, 1, 2), "a": (None, {"b": b"c"})}) == {
        "1": "2024-01-02",
        "a": [None, {"b": "b'c'"}],
    }


def test_outcomes_come_back() -> None:
    failure = RenderFailure("yaml", "No.", "/a", 1, 2, "x")
    section = RenderedSection("s", "c", 1)
    part = RenderedPart(0, "n", "user", ["c"], 3, 0, kept=True, sections=(section,))
    rendering = Rendering(
        (part,), None, [{"role": "user", "content": ["c"]}], 3, 3, "t", 0.1, (failure,), ("/a",)
    )
    for outcome in (failure, rendering):
        assert unpacked_outcome(json.loads(json.dumps(packed_outcome(outcome)))) == outcome


def test_a_number_of_more_digits_than_python_writes_is_shown_in_words() -> None:
    number = 16**5000
    assert plain({number: [number]}) == {"a value of type int": ["a value of type int"]}
