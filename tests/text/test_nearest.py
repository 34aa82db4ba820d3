from __future__ import annotations

from promptls.text.nearest import did_you_mean, nearest


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert nearest("Contnet", ["name", "content"]) == "content"


def test_a_name_that_is_like_none_has_no_nearest() -> None:
    assert nearest("zebra", ["name", "content"]) is None
    assert did_you_mean("zebra", ["name", "content"]) == ""


def test_a_message_ends_with_the_nearest_name() -> None:
    assert did_you_mean("naem", ["name"]) == "; did you mean `name`?"
