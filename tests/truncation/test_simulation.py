"""What a growing chat keeps, loses, and finds in the cache under a limit."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.dialects.prompt_poet.prompt_parts import NO_LIMIT, truncate
from promptls.truncation.candidates import Trial
from promptls.truncation.prefix_cache import CACHES, Chat, Piece, cache_of, shared_prefix
from promptls.truncation.simulation import simulate

EXACT = CACHES["exact"]


def chat(sizes: list[int], *, fixed: int = 10) -> Chat:
    """Return a fixed part, and one more message each turn."""
    system = Piece("system", "system", fixed, 0)
    messages = [Piece(f"message {index}", "user", size, 1) for index, size in enumerate(sizes)]
    turns = tuple((0, *range(1, count + 1)) for count in range(1, len(sizes) + 1))
    return Chat("c", "here", 0, (system, *messages), turns)


def nothing_shared(_first: int, _second: int) -> int:
    return 0


def test_a_turn_reads_from_the_cache_what_the_turn_before_began_with() -> None:
    found = simulate(chat([5, 5, 5]), NO_LIMIT, None, EXACT, nothing_shared)
    assert [(turn.tokens, turn.cached, turn.lost) for turn in found.turns] == [
        (15, 0, 0),
        (20, 15, 0),
        (25, 20, 0),
    ]
    assert Trial(NO_LIMIT, 1, (found,)).cache_rate == pytest.approx(35 / 45)


def test_truncation_keeps_the_cached_prefix_before_the_cut() -> None:
    found = simulate(chat([5, 5, 5, 5]), 20, 10, EXACT, nothing_shared)
    assert [(turn.tokens, turn.cached, turn.lost, turn.excess) for turn in found.turns] == [
        (15, 0, 0, 0),
        (20, 15, 0, 0),
        (15, 10, 10, 5),
        (20, 15, 10, 10),
    ]
    trial = Trial(20, 10, (found,))
    assert (trial.breaks, trial.needless) == (1, 5)
    assert trial.kept_rate == pytest.approx(70 / 75)


def test_a_larger_step_breaks_the_cache_less_often() -> None:
    small, large = (
        Trial(40, step, (simulate(chat([5] * 30), 40, step, EXACT, nothing_shared),)) for step in (1, 20)
    )
    assert large.breaks < small.breaks
    assert large.cache_rate > small.cache_rate
    assert large.kept_rate < small.kept_rate


def test_a_message_that_is_removed_in_the_turn_in_which_it_arrives_breaks_no_cache() -> None:
    found = simulate(chat([5] * 9), 10, 1, EXACT, nothing_shared)
    assert {turn.tokens for turn in found.turns} == {10}
    assert found.breaks == 0


def test_a_turn_that_cannot_be_cut_is_whole_and_says_why() -> None:
    found = simulate(chat([5, 5], fixed=30), 20, 5, EXACT, nothing_shared)
    assert [turn.tokens for turn in found.turns] == [35, 40]
    assert "cannot be truncated to its limit of 20 tokens" in (found.turns[0].failure or "")


@pytest.mark.parametrize(
    ("cache", "shared", "readable"),
    [
        ("exact", 7, 7),
        ("openai", 1023, 0),
        ("openai", 1024, 1024),
        ("openai", 1300, 1280),
        ("deepseek", 130, 128),
        ("vllm", 15, 0),
        ("google", 4095, 0),
    ],
)
def test_a_cache_keeps_blocks_from_its_least_length_on(cache: str, shared: int, readable: int) -> None:
    assert CACHES[cache].readable(shared) == readable


@pytest.mark.parametrize(
    ("model", "cache"), [("openai:gpt-4o", "openai"), ("local:smollm2", "exact"), (None, "exact")]
)
def test_a_model_has_its_providers_cache(model: str | None, cache: str) -> None:
    assert cache_of(model).name == cache


def test_of_the_first_part_that_differs_only_the_common_tokens_are_shared() -> None:
    pieces = [Piece("a", "user", 10, 0), Piece("b", "user", 10, 0), Piece("c", "assistant", 10, 0)]
    assert shared_prefix(pieces, (0, 1), (0, 0), lambda _first, _second: 4) == 14
    assert shared_prefix(pieces, (0, 1), (0, 2), lambda _first, _second: 4) == 10


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 60), st.integers(1, 30))
def test_every_turn_is_cut_as_prompt_poet_cuts_it(sizes: list[int], limit: int, step: int) -> None:
    grown = chat(sizes, fixed=0)
    found = simulate(grown, limit, step, EXACT, nothing_shared)
    for turn, pieces in zip(found.turns, grown.turns, strict=True):
        tokens = [grown.pieces[number].tokens for number in pieces]
        priorities = [grown.pieces[number].priority for number in pieces]
        assert turn.kept == truncate(priorities, tokens, limit, step).kept
        assert turn.tokens + turn.lost == sum(tokens)
    assert all(now.cached <= before.tokens for before, now in pairwise(found.turns))
    trial = Trial(limit, step, (found,))
    assert 0 <= trial.cache_rate <= 1
    assert 0 <= trial.kept_rate <= 1
