"""Values as they are kept: what a file can hold in place of what Python holds."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

RowData: TypeAlias = dict[str, Any]
"""The values of a row by column."""


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all rows, each once, in order of appearance."""
    return list(dict.fromkeys(str(key) for row in rows for key in row))


def flat_rows(rows: Iterable[Mapping[str, Any]]) -> list[RowData]:
    """Return the rows with scores split into two columns: the metric's value and its reason."""
    return [flat_row(row) for row in rows]


def flat_row(row: Mapping[str, Any]) -> RowData:
    """Return one row; a column that the row has itself is left as it is."""
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
    """Return whether a value is the result of a metric, of promptls or of Ragas."""
    return type(value).__name__ == "MetricResult" and hasattr(value, "value") and hasattr(value, "reason")


def json_value(value: Any) -> Any:
    """Return the JSON form of a value that JSON does not know: numpy values, dates, models, else text."""
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
    """Return a value as text: nothing for None, JSON for lists and mappings."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict | set | frozenset):
        return json.dumps(value, ensure_ascii=False, default=json_value)
    return str(value)


# `exported.ts` of the pages has the same two.
_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def spreadsheet_line(cells: Sequence[str]) -> str:
    """Return a line of CSV; a cell that a spreadsheet would calculate begins with an apostrophe."""
    stream = io.StringIO()
    plain = (f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell for cell in cells)
    csv.writer(stream, lineterminator="\r\n").writerow(plain)
    return stream.getvalue()
