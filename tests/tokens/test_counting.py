"""Counts are exact, cached, and strict only where Prompt Poet is."""

from __future__ import annotations

import pytest

from promptls import tokens
from promptls.tokens import SpecialTokenError, count, count_strictly


@pytest.mark.parametrize(
    ("text", "encoding", "tokens"),
    [
        ("hello", "o200k_base", 1),
        ("hel", "o200k_base", 1),
        ("lo", "o200k_base", 1),
        ("hello world", "gpt-4", 2),
        ("", "o200k_base", 0),
        ("\ud83d", "o200k_base", 1),
    ],
)
def test_known_counts(text: str, encoding: str, tokens: int) -> None:
    assert count(text, encoding) == tokens


def test_words_of_a_special_token_count_as_text() -> None:
    assert count("<|endoftext|>", "o200k_base") == 7


def test_a_strict_count_refuses_words_of_a_special_token() -> None:
    with pytest.raises(SpecialTokenError, match=r"<\|endofprompt\|>"):
        count_strictly("end <|endofprompt|> here", "o200k_base")


def test_a_strict_count_takes_other_markers_as_text() -> None:
    assert count_strictly("<|im_start|>", "o200k_base") == count("<|im_start|>", "o200k_base")


def test_a_count_is_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count("a text that only this test counts", "o200k_base")
    monkeypatch.setattr(tokens, "load", lambda _name: pytest.fail("counted again"))
    assert count("a text that only this test counts", "o200k_base") == counted


def test_the_memory_of_counts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "CACHED_COUNTS", 3)
    monkeypatch.setattr(tokens, "_counts", type(tokens._counts)())
    for index in range(10):
        count(f"number {index}", "o200k_base")
    assert len(tokens._counts) == 3
