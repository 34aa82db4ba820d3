"""JSON files by their names, and their bytes, which may be packed: Ragas saves `.json.gz` too."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Final

MOST_BYTES: Final = 20_000_000
"""The most that is unpacked of one file."""


def is_json_file(path: str) -> bool:
    """Whether a file is JSON by its name: then there is no Jinja in it, whatever its texts look like."""
    return path.lower().endswith((".json", ".json.gz"))


def unpacked(path: str, data: bytes) -> bytes:
    """The `data` of a file, unpacked where its name ends in `.json.gz`.

    Raises OSError where they are no such file, or too large a one.
    """
    if not path.lower().endswith(".json.gz"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MOST_BYTES + 1)
    except (EOFError, zlib.error) as error:
        raise OSError(f"it is no whole gzip file ({error})") from error
    if len(plain) > MOST_BYTES:
        raise OSError(f"it unpacks to more than {MOST_BYTES // 1_000_000} MB")
    return plain


def packed(path: str, data: bytes) -> bytes:
    """The `data` as they stand in a file of this name: the same each time."""
    return gzip.compress(data, mtime=0) if path.lower().endswith(".gz") else data
