from __future__ import annotations

import pytest

from promptls.cli.reports import WIDEST, excerpt
from promptls.text.positions import Span


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def marked(text: str, part: str) -> tuple[str, str]:
    start = text.index(part)
    source, carets = excerpt(text, Span(start, start + len(part))).split("\n")
    return source, carets


def test_the_caret_is_below_the_span() -> None:
    assert marked("- name: a\n  rolle: user\n", "rolle") == (
        "    2 |   rolle: user",
        "      |   ^^^^^",
    )


def test_an_empty_span_gets_one_caret() -> None:
    assert excerpt("abc", Span(3, 3)) == "    1 | abc\n      |    ^"


def test_a_span_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    assert excerpt("ab cd\nef", Span(3, 8)) == "    1 | ab cd\n      |    ^^"


def test_a_tab_takes_one_column() -> None:
    source, carets = marked("\tname: x", "name")
    assert carets.index("^") == source.index("name")


def test_wide_characters_take_two_columns() -> None:
    assert marked("角色: user", "user")[1] == "      |       ^^^^"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\033" not in excerpt("a\033[2Jb", Span(0, 1))


@pytest.mark.parametrize("position", [0, 5, 200, 395])
def test_a_long_line_is_cut_around_the_place(position: int) -> None:
    text = "x" * position + "here" + "x" * (396 - position)
    source, carets = marked(text, "here")
    assert len(source) <= WIDEST + len("    1 | ……")
    assert source[carets.index("^") :].startswith("here")
    assert carets.endswith("^^^^")
