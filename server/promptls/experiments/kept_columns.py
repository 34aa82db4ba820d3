"""The short columns of a long table, kept beside it so that they are read again in a moment.

Each is a file in `experiments/.cache`, named as the table. It says of which table it was made, by time and
size; one that is of another, damaged or of another version counts for none, and is written anew.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.experiments.answer_cache import FOLDER, make_cache_folder
from promptls.text.file_stamp import Stamp

SUFFIX: Final = ".columns"
SMALLEST_TABLE: Final = 4 << 20
"""Bytes: a smaller table is read as quickly itself."""

FORMAT: Final = 1


class KeptColumns(NamedTuple):
    """Where each line begins, with the end of the last; and the cells of some columns, by name."""

    starts: array[int]
    columns: Mapping[str, Sequence[str]]


def kept_columns(table: Path, stamp: Stamp) -> KeptColumns | None:
    """What is kept of the table; None where there is nothing, or it is of another one."""
    if stamp.size < SMALLEST_TABLE:
        return None
    try:
        values = json.loads(zlib.decompress(_file(table).read_bytes()))
        if values["format"] != FORMAT or values["table"] != list(stamp):
            return None
        starts = _numbers(values["starts"], "Q")
        columns = {name: _cells(packed) for name, packed in values["columns"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, zlib.error):
        return None
    is_whole = all(len(cells) == len(starts) - 2 for cells in columns.values())
    return KeptColumns(starts, columns) if is_whole else None


def keep_columns(table: Path, stamp: Stamp, found: KeptColumns) -> None:
    """They are on disk as a whole, or not at all; nothing happens where they cannot be written."""
    if stamp.size < SMALLEST_TABLE:
        return
    values = {
        "format": FORMAT,
        "table": list(stamp),
        "starts": _packed_numbers(found.starts),
        "columns": {name: _packed(cells) for name, cells in found.columns.items()},
    }
    path = _file(table)
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    with contextlib.suppress(OSError):
        make_cache_folder(path.parent)
        try:
            aside.write_bytes(
                zlib.compress(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"), 1)
            )
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def _file(table: Path) -> Path:
    return table.parent / FOLDER / f"{table.stem}{SUFFIX}"


def _packed(cells: Sequence[str]) -> dict[str, Any]:
    """Each different text once, and for each line which of them it has."""
    texts = list(dict.fromkeys(cells))
    numbers = {text: number for number, text in enumerate(texts)}
    return {"texts": texts, "lines": _packed_numbers(array("I", map(numbers.__getitem__, cells)))}


def _cells(packed: Mapping[str, Any]) -> list[str]:
    texts = [str(text) for text in packed["texts"]]
    return list(map(texts.__getitem__, _numbers(packed["lines"], "I")))


def _packed_numbers(numbers: array[int]) -> str:
    return f"{sys.byteorder} {numbers.itemsize} {base64.b64encode(numbers.tobytes()).decode('ascii')}"


def _numbers(text: str, kind: str) -> array[int]:
    order, size, packed = text.split(" ")
    found = array(kind)
    if order != sys.byteorder or int(size) != found.itemsize:
        raise ValueError("written by a machine of another kind")
    found.frombytes(base64.b64decode(packed))
    return found
