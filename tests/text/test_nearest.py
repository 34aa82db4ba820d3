from __future__ import annotations

import pytest

from promptls.text.suggest import did_you_mean, is_close, nearest


def test_the_nearest_name_is_found_in_any_case() -> None:
    assert nearest("Contnet", ["name", "content"]) == "content"


def test_a_name_that_is_like_none_has_no_nearest() -> None:
    assert nearest("zebra", ["name", "content"]) is None
    assert did_you_mean("zebra", ["name", "content"]) == ""


def test_a_message_ends_with_the_nearest_name() -> None:
    assert did_you_mean("naem", ["name"]) == "; did you mean `name`?"


@pytest.mark.parametrize(
    ("word", "meant", "is_it"),
    [
        ("to_json", "tojson", True),
        ("contnet", "content", True),
        ("regex_replace", "replace", False),
        ("query2", "query", False),
        ("question", "question_type", False),
        ("contents", "content", True),
        ("extra", "text", False),
        ("textD", "textC", False),
        ("texTd", "textd", True),
    ],
)
def test_only_a_clear_misspelling_is_fixed_without_looking(word: str, meant: str, is_it: bool) -> None:
    assert is_close(word, meant) is is_it
