from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptls.datasets.cells import typed_row
from promptls.datasets.dataset_files import open_dataset
from promptls.text.errors import UsageError, UserError


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_rows_have_the_columns_as_strings(write: Callable[..., Path]) -> None:
    dataset = open_dataset(write("id,text\n1,hello\n2,017\n"))
    assert dataset.columns == ("id", "text")
    assert [dict(row.values) for row in dataset.rows()] == [
        {"id": "1", "text": "hello"},
        {"id": "2", "text": "017"},
    ]


def test_a_row_knows_the_line_in_which_it_begins(write: Callable[..., Path]) -> None:
    dataset = open_dataset(write('id,text\n1,"two\nlines"\n\n2,b\n'))
    assert [(row.number, row.line) for row in dataset.rows()] == [(1, 1), (2, 4)]


def test_a_byte_order_mark_is_no_part_of_the_first_name(write: Callable[..., Path]) -> None:
    assert open_dataset(write("\ufeffid,text\n1,a\n")).columns == ("id", "text")


def test_rows_are_read_while_they_are_asked_for(write: Callable[..., Path]) -> None:
    rows = open_dataset(write("a\n1\n2,too,many\n")).rows()
    assert next(rows).values == {"a": "1"}
    with pytest.raises(UserError):
        next(rows)


def test_a_row_with_too_many_cells_is_named_with_its_line(write: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="3 cells, but the file has 2 columns") as failure:
        list(open_dataset(write("a,b\n1,2\n1,2,3\n")).rows())
    assert failure.value.place.line == 2


def test_cells_that_a_row_lacks_are_empty(write: Callable[..., Path]) -> None:
    (row,) = open_dataset(write("a,b\n1\n")).rows()
    assert row.values == {"a": "1", "b": ""}


def test_a_missing_file_names_the_nearest_one(write: Callable[..., Path]) -> None:
    path = write("a\n1\n", "tickets.csv")
    with pytest.raises(UsageError) as failure:
        open_dataset(path.with_name("ticket.csv"))
    assert failure.value.place.path == path.with_name("ticket.csv")
    assert "`tickets.csv`" in failure.value.remedy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b,a\n", "two columns are named `a`"),
        ("a,,c\n", "column 2 has no name"),
    ],
)
def test_a_file_without_clear_columns_is_refused(
    write: Callable[..., Path], content: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        open_dataset(write(content))


@pytest.mark.parametrize(
    ("cell", "declared", "value"),
    [
        ('[{"a": 1}]', "array", [{"a": 1}]),
        ('{"a": 1}', "object", {"a": 1}),
        ('{"a": 1}', "array", '{"a": 1}'),
        ("3", "integer", 3),
        ("3", "number", 3),
        ("true", "integer", "true"),
        ("TRUE", "boolean", True),
        ("007", "integer", "007"),
        ("", "array", ""),
        ("[" * 100_000, "array", "[" * 100_000),
        ("3", "string", "3"),
        ("3", None, "3"),
        (["a"], "array", ["a"]),
    ],
)
def test_a_text_of_an_input_with_another_type_is_read_as_json(
    cell: Any, declared: str | None, value: Any
) -> None:
    assert typed_row({"x": cell}, {"x": declared} if declared else {}) == {"x": value}


def test_a_quote_that_is_never_closed_is_found_at_its_row(write: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="never closed") as failure:
        list(open_dataset(write('a,b\n1,2\n3,"4\n5,6\n')).rows())
    assert failure.value.place.line == 2


def test_a_file_that_is_not_utf_8_is_refused(write: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="not UTF-8: byte 0xe9"):
        list(open_dataset(write("a\ncafé\n".encode("latin-1"))).rows())


def test_an_unknown_ending_names_those_that_are_known(write: Callable[..., Path]) -> None:
    with pytest.raises(UsageError) as failure:
        open_dataset(write("", "rows.xlsx"))
    assert "`.csv`" in failure.value.remedy


def test_a_row_without_an_id_is_known_by_its_number(write: Callable[..., Path]) -> None:
    assert [row.id for row in open_dataset(write("id,text\nx1,a\n,b\n")).rows()] == ["x1", "2"]
