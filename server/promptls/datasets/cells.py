"""The cells of dataset files, and the limits and failures of reading them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

from promptls.security.files import is_file, is_folder, names_in, open_text
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.suggest import nearest

RowData: TypeAlias = dict[str, Any]
"""The values of a row, by column name."""


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the distinct keys of all rows, in order of appearance."""
    return list(dict.fromkeys(str(key) for row in rows for key in row))


def flat_rows(rows: Iterable[Mapping[str, Any]]) -> list[RowData]:
    """Return the rows with scores split into two columns: the metric's value and its reason."""
    return [flat_row(row) for row in rows]


def flat_row(row: Mapping[str, Any]) -> RowData:
    """Return the row with its scores split; columns that already exist are not overwritten."""
    flat: RowData = {}
    for key, value in row.items():
        if is_score(value):
            flat[str(key)] = value.value
            if value.reason is not None and f"{key}_reason" not in row:
                flat[f"{key}_reason"] = value.reason
        else:
            flat[str(key)] = value
    return flat


def is_score(value: Any) -> bool:
    """Return whether a value is a metric result of promptls or Ragas."""
    return type(value).__name__ == "MetricResult" and hasattr(value, "value") and hasattr(value, "reason")


def json_value(value: Any) -> Any:
    """Return a JSON-serializable form of a numpy value, date or model; falls back to text."""
    if is_score(value):
        return {"value": value.value, "reason": value.reason}
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "item") and callable(value.item):
        return value.item()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def json_line(row: Mapping[str, Any]) -> str:
    """Return the row as JSON on one line."""
    return json.dumps(row, ensure_ascii=False, default=json_value)


def text_cell(value: Any) -> str:
    """Return a value as text: empty for None, JSON for lists and mappings."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict | set | frozenset):
        return json.dumps(value, ensure_ascii=False, default=json_value)
    return str(value)


def joined_cell(value: Any) -> str:
    """Return a value as text: lists of plain values are joined with `;`, as in the tables of runs."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ";".join(map(str, value))
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


_JSON_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def typed_row(values: Mapping[str, Any], types: Mapping[str, str]) -> RowData:
    """Return the row with the JSON in its texts read, for columns with one of these JSON Schema types.

    Texts that do not contain a value of the type are left unchanged.
    """
    return {name: _typed(value, types.get(name)) for name, value in values.items()}


def _typed(value: Any, declared: str | None) -> Any:
    types = _JSON_TYPES.get(declared or "")
    if types is None or not isinstance(value, str):
        return value
    try:
        found = json.loads(value.lower() if declared == "boolean" else value)
    except (ValueError, RecursionError):
        return value
    is_other = isinstance(found, bool) and declared != "boolean"
    return found if isinstance(found, types) and not is_other else value


# `exported.ts` of the results pages implements the same two functions.
_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def spreadsheet_line(cells: Sequence[str]) -> str:
    """Return a line of CSV; cells that look like formulas are prefixed with an apostrophe."""
    stream = io.StringIO()
    plain = (f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell for cell in cells)
    csv.writer(stream, lineterminator="\r\n").writerow(plain)
    return stream.getvalue()


MAX_COLUMNS: Final = 2_000
MAX_LINE: Final = 16_000_000
"""Maximum length of a line in characters; longer lines are not read into memory."""
MAX_ROWS_FOR_COLUMNS: Final = 1_000
"""Number of rows that are read to find the columns of a dataset without a header."""
MAX_CHARACTERS_FOR_COLUMNS: Final = 4_000_000
"""Number of characters after which the search for columns stops, at the end of the current row."""


@contextmanager
def open_cells(path: Path) -> Iterator[TextIO]:
    """Open the file at `path` for reading as UTF-8, with or without a byte order mark.

    Raises `UsageError` if the file does not exist, suggesting the most similar name in its folder.
    """
    try:
        stream = open_text(path, "utf-8-sig")
    except FileNotFoundError:
        raise UsageError("the dataset does not exist", FilePlace(path), _other_files(path)) from None
    except IsADirectoryError:
        raise UsageError("the dataset is a folder", FilePlace(path), "name a file in it") from None
    except OSError as error:
        raise UserError(
            f"the dataset cannot be opened: {error.strerror}", FilePlace(path), "check its permissions"
        ) from None
    except ValueError:
        raise UsageError("no dataset can have this name", FilePlace(path), _other_files(path)) from None
    with stream:
        yield stream


def lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Yield the lines of a dataset, including line endings.

    Raises `UserError` for a line that exceeds `MAX_LINE`.
    """
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise UserError(
                f"the line has more than {MAX_LINE:,} characters", FilePlace(path, number), "shorten it"
            )
        yield line
        number += 1


def keys_of_first(path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]], remedy: str) -> tuple[str, ...]:
    """Return the keys of the first rows, in order of appearance.

    Raises `UserError` if there are too many or, with the `remedy`, none.
    """
    columns: dict[str, None] = {}
    for _, values in islice(rows, MAX_ROWS_FOR_COLUMNS):
        columns.update(dict.fromkeys(values))
        check_number_of_columns(path, len(columns))
    if not columns:
        raise UserError("the dataset is empty", FilePlace(path), remedy)
    return tuple(columns)


def check_number_of_columns(path: Path, number: int) -> None:
    """Raise `UserError` if a dataset has an implausible number of columns."""
    if number > MAX_COLUMNS:
        raise UserError(
            f"the dataset has more than {MAX_COLUMNS:,} columns",
            FilePlace(path, 0),
            "leave out those that no prompt uses, or put them into one column as JSON",
        )


def opened_bytes(path: Path) -> None:
    """Raise the errors of `open_cells` for a missing or unreadable file, without decoding its content."""
    with open_cells(path):
        pass


def not_utf8(path: Path, error: UnicodeDecodeError) -> UserError:
    """Return the error for a file that is not valid UTF-8."""
    return UserError(
        f"the dataset is not UTF-8: byte 0x{error.object[error.start]:02x} is not valid there",
        FilePlace(path),
        "save the file in UTF-8; in a spreadsheet program choose `CSV UTF-8`",
    )


def _other_files(path: Path) -> str:
    if not is_folder(path.parent):
        return f"the folder `{path.parent}` does not exist either: check the path"
    near = nearest(path.name, (name for name in names_in(path.parent) if is_file(path.parent / name)))
    if near is not None:
        return f"did you mean `{near}`, in the same folder?"
    return "check the path; it is read from the prompt file's folder"
