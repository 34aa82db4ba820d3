from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptls.experiments.kept_columns import SMALLEST_TABLE, Stamp, kept_columns
from promptls.experiments.table_index import TableIndex

ROWS = 300
TEXT = "x" * (SMALLEST_TABLE // ROWS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table that is just long enough for its columns to be kept."""
    lines = [f'r{number},"{TEXT}\n",{"pass" if number % 3 else "fail"}' for number in range(ROWS)]
    path = tmp_path / "20260101-000000-ask.csv"
    path.write_text("\r\n".join(["id,response,exact_match", *lines, ""]), "utf-8", newline="")
    return path


def stamp(table: Path) -> Stamp:
    state = table.stat()
    return Stamp(state.st_mtime_ns, state.st_size)


def opened(table: Path) -> TableIndex:
    return TableIndex(table, stamp(table))


def kept_file(table: Path) -> Path:
    (found,) = (table.parent / ".cache").glob("*.columns")
    return found


def test_columns_that_were_read_once_are_there_without_the_table(table: Path) -> None:
    first = opened(table)
    read = {name: list(cells) for name, cells in first.columns_of("id", "exact_match").items()}
    found = kept_columns(table, stamp(table))
    assert found is not None
    assert {name: list(cells) for name, cells in found.columns.items()} == read
    again = opened(table)
    again.columns_of("id")
    assert next(again.lines([7])) == next(first.lines([7])) == {
        "id": "r7", "response": f"{TEXT}\n", "exact_match": "pass",
    }  # fmt: skip


def test_columns_of_a_table_that_has_changed_count_for_none(table: Path) -> None:
    opened(table).columns_of("id")
    text = table.read_text("utf-8").replace("r7,", "s7,")
    table.write_text(text, "utf-8", newline="")
    os.utime(table, ns=(1, 1))
    assert kept_columns(table, stamp(table)) is None
    assert opened(table).columns_of("id")["id"][7] == "s7"


@pytest.mark.parametrize("damage", ["empty", "half", "other"])
def test_a_damaged_file_is_written_anew(table: Path, damage: str) -> None:
    expected = list(opened(table).columns_of("id")["id"])
    file = kept_file(table)
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "other": b"x" + whole}[damage])
    assert list(opened(table).columns_of("id")["id"]) == expected
    assert file.read_bytes() == whole


def test_a_short_table_leaves_nothing_beside_it(tmp_path: Path) -> None:
    table = tmp_path / "short.csv"
    table.write_text("id\nr1\n", "utf-8")
    assert opened(table).columns_of("id")["id"] == ["r1"]
    assert [path.name for path in tmp_path.iterdir()] == ["short.csv"]


def test_a_folder_that_cannot_be_written_to_changes_no_answer(table: Path) -> None:
    (table.parent / ".cache").write_text("a file stands where the folder would be", "utf-8")
    assert len(opened(table).columns_of("id")["id"]) == ROWS
