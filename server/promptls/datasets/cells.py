"""Conversion of Python values to the values that dataset files can store."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

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


# `exported.ts` of the results pages implements the same two functions.
_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def spreadsheet_line(cells: Sequence[str]) -> str:
    """Return a line of CSV; cells that look like formulas are prefixed with an apostrophe."""
    stream = io.StringIO()
    plain = (f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell for cell in cells)
    csv.writer(stream, lineterminator="\r\n").writerow(plain)
    return stream.getvalue()
