"""Recognize JSON files by name, and pack or unpack their bytes: Ragas saves `.json.gz` too."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Final

MAX_BYTES: Final = 20_000_000
"""The maximum unpacked size of one file."""


def is_json_file(path: str) -> bool:
    """Return whether a file is JSON by its name, and therefore contains no Jinja."""
    return path.lower().endswith((".json", ".json.gz"))


def unpacked(path: str, data: bytes) -> bytes:
    """Return the `data` of a file, unpacked if its name ends in `.json.gz`.

    Raises OSError if they are not valid gzip data or too large.
    """
    if not path.lower().endswith(".json.gz"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error) as error:
        raise OSError(f"it is no whole gzip file ({error})") from error
    if len(plain) > MAX_BYTES:
        raise OSError(f"it unpacks to more than {MAX_BYTES // 1_000_000} MB")
    return plain


def packed(path: str, data: bytes) -> bytes:
    """Return the `data` as stored in a file of this name; the result is deterministic."""
    return gzip.compress(data, mtime=0) if path.lower().endswith(".gz") else data
