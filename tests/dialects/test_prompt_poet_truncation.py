"""Which parts a token limit removes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import truncate


@pytest.mark.parametrize(
    ("sizes", "priorities", "limit", "step", "removed", "after"),
    [
        ([3, 3, 3, 3], [1, 1, 1, 1], 7, 1, (0, 1), 6),
        ([3, 3, 3, 3], [1, 1, 1, 1], 11, 5, (0, 1), 6),
        ([3, 3, 3], [1, 1, 1], 8, 1000, (0, 1, 2), 0),
        ([3, 3, 3, 3], [1, 5, 3, 5], 6, 1, (1, 3), 6),
        ([2, 9, 2, 2], [5, 0, 5, 1], 12, 1, (0, 2), 11),
        ([5, 5, 5], [0, 1, 0], 10, 1, (1,), 10),
        ([10, 10, 1], [1, 1, 1], 20, 1, (0,), 11),
        ([4, 4, 4, 4], [3, 3, 2, 2], 7, 1, (0, 1, 2), 4),
        ([10, 400, 300, 200, 400, 50], [0, 5, 5, 5, 5, 0], 1280, 40, (1,), 960),
        ([5, 5], [True, 0.5], 5, 1, (0,), 5),
        ([0, 5, 0, 5], [1, 1, 1, 0], 5, 1, (0, 1, 2), 5),
        ([5, 5], [0, 0], 10, 1, (), 10),
    ],
)
def test_parts_go_by_priority_and_step(
    sizes: list[int], priorities: list[Any], limit: int, step: int, removed: tuple[int, ...], after: int
) -> None:
    result = truncate(priorities, sizes, limit, step)
    assert (result.removed, result.tokens_after, result.tokens_before) == (removed, after, sum(sizes))
    assert sorted((*result.kept, *result.removed)) == list(range(len(sizes)))


def test_without_a_limit_nothing_is_checked() -> None:
    assert truncate(["high"], [5], -1, None).kept == (0,)


@pytest.mark.parametrize(
    ("priorities", "limit", "step", "message"),
    [
        ([1], 0, 1, "The token limit is 0"),
        ([1], 3, 0, "The truncation step is 0"),
        ([1], 3, None, "no truncation step"),
        (["1"], 9, 1, "is not a number"),
        ([None], 9, 1, "is not a number"),
        ([0], 3, 1, "no part has a positive `truncation_priority`"),
        ([0, 1], 3, 1, "nothing more may be removed"),
    ],
)
def test_what_cannot_be_truncated_is_reported(
    priorities: list[Any], limit: int, step: int | None, message: str
) -> None:
    with pytest.raises(PromptPoetError, match=message):
        truncate(priorities, [5] * len(priorities), limit, step)


@pytest.mark.parametrize(
    ("presets", "limit", "left"),
    [
        (["abc", None], 4, (1,)),
        ([[1], None], 10, (0, 1)),
        (["", None], 10, (0, 1)),
        (["abc", None], 10, None),
        ([{"a": 1}, None], 10, None),
        ([None, b"ab"], 4, None),
    ],
)
def test_preset_tokens_that_stay_must_be_lists(
    presets: list[Any], limit: int, left: tuple[int, ...] | None
) -> None:
    if left is None:
        with pytest.raises(PromptPoetError, match="presets `tokens` that are not a list") as caught:
            truncate([1, 0], [3, 3], limit, 1, presets)
        assert caught.value.cause == "TypeError"
    else:
        assert truncate([1, 0], [3, 3], limit, 1, presets).kept == left


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), max_size=8),
    st.integers(1, 40),
    st.integers(1, 20),
)
def test_a_result_keeps_to_the_limit_and_to_what_may_go(
    parts: list[tuple[int, int]], limit: int, step: int
) -> None:
    priorities, sizes = [part[0] for part in parts], [part[1] for part in parts]
    fixed = sum(size for priority, size in parts if priority <= 0)
    try:
        result = truncate(priorities, sizes, limit, step)
    except PromptPoetError:
        assert fixed > limit
        return
    assert result.tokens_after == sum(sizes[index] for index in result.kept) <= limit
    assert all(priorities[index] > 0 for index in result.removed)
