from __future__ import annotations

import pytest

from promptls.cli.terminal import Column, TableRow, table


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_numbers_keep_to_the_right_and_no_line_ends_in_blanks() -> None:
    shown = table(
        [Column("part"), Column("tokens", "right")], [TableRow(["system", "7"]), TableRow(["q", "1 234"])]
    )
    assert shown == "part    tokens\nsystem       7\nq        1 234"


def test_wide_characters_take_two_columns() -> None:
    shown = table([Column("part"), Column("n")], [TableRow(["票", "1"]), TableRow(["ab", "2"])])
    assert shown == "part  n\n票    1\nab    2"


def test_a_table_without_rows_is_its_heading() -> None:
    assert table([Column("part")], []) == "part"
