from __future__ import annotations

import logging

import pytest

from promptls.protocol.dispatch import attempted


def test_a_feature_that_fails_is_logged_with_its_method_and_answered_empty(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> str:
        raise KeyError("lost")

    with caplog.at_level(logging.ERROR):
        assert attempted("textDocument/completion", fail) is None

    assert "textDocument/completion failed" in caplog.text
    assert "lost" in caplog.text
    caplog.clear()  # it was expected


def test_a_feature_that_succeeds_is_passed_on() -> None:
    assert attempted("textDocument/completion", lambda: "text") == "text"
