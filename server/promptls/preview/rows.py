"""The rows of the dataset that hold some words, for the page's picker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from promptls.datasets.files import Row, open_dataset
from promptls.preview import wire
from promptls.rendering.job import plain

MAX_ROWS: Final = 100
"""How many rows an answer holds."""
_MAX_SHOWN: Final = 160
"""How many characters of a row are shown."""


def matching_rows(dataset: Path, words: str, start: int = 0) -> wire.DatasetRowsAnswer:
    """Return the rows with all words, ignoring case, from the `start`th match on, and the match count.

    Reads the whole dataset, row by row: call it on a thread. Raises UserError where it cannot be read.
    """
    wanted = words.casefold().split()
    found: list[wire.DatasetRow] = []
    matching = total = 0
    for row in open_dataset(dataset).rows():
        total += 1
        text = _text(row)
        if wanted and not all(word in text.casefold() for word in wanted):
            continue
        if start <= matching < start + MAX_ROWS:
            found.append({"row": row.number - 1, "text": _around(text, wanted)})
        matching += 1
    return {"dataset": dataset.name, "rows": found, "start": start, "matching": matching, "total": total}


def _text(row: Row) -> str:
    return "  ".join(_cell(value) for value in row.values.values())


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _around(text: str, wanted: list[str]) -> str:
    """Return what is shown of a row: its beginning, or where the first word that was looked for stands."""
    one_line = " ".join(text.split())
    place = one_line.casefold().find(wanted[0]) if wanted else 0
    start = 0 if place < _MAX_SHOWN else max(0, place - _MAX_SHOWN // 4)
    shown = one_line[start : start + _MAX_SHOWN]
    return f"{'…' if start else ''}{shown}{'…' if start + _MAX_SHOWN < len(one_line) else ''}"
