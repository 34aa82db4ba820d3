"""What file names say: JSON files, packed or not, and names made from text that others wrote.

Ragas saves `.json.gz` too. A name may come from a prompt's name or a column of a dataset.
"""

from __future__ import annotations

import gzip
import io
import re
import unicodedata
import zlib
from typing import Final

MAX_BYTES: Final = 20_000_000
"""The maximum size of a file that is read, packed and unpacked: no prompt is that long."""


def is_json_file(path: str) -> bool:
    """Return whether a file is JSON by its name, and therefore contains no Jinja."""
    return path.lower().endswith((".json", ".json.gz"))


def unpack_file(path: str, data: bytes) -> bytes:
    """Return the `data` of a file, unpacked if its name ends in `.json.gz`.

    Raises OSError if they are not valid gzip data or too large.
    """
    if not path.lower().endswith(".json.gz"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error) as error:
        raise OSError(f"it is not a whole gzip file ({error})") from error
    if len(plain) > MAX_BYTES:
        raise OSError(f"it unpacks to more than {MAX_BYTES // 1_000_000} MB")
    return plain


def pack_file(path: str, data: bytes) -> bytes:
    """Return the `data` as stored in a file of this name; the result is deterministic."""
    return gzip.compress(data, mtime=0) if path.lower().endswith(".gz") else data


_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"}
)
"""Names that Windows reserves for devices, in any folder and with any extension."""

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_BARE: Final = re.compile(r"[/\\]+")


def file_name_problem(name: str) -> str | None:
    """Return why this cannot be a file name, or None if it is valid on every system."""
    if not name:
        return "is empty"
    if name in {".", ".."}:
        return "leads to another folder"
    if "/" in name or "\\" in name:
        return "holds a slash"
    if _DRIVE.match(name):
        return "begins with a drive"
    if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in name):
        return "contains a control character"
    if name[-1] in ". ":
        return "ends with a dot or a space"
    if name.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        return "is that of a device on Windows"
    return None


def as_file_name(text: str) -> str:
    """Return the text as part of a file name: invalid characters become hyphens."""
    name = _BARE.sub("-", text)
    name = "".join("-" if unicodedata.category(letter) in {"Cc", "Cs"} else letter for letter in name)
    return name.rstrip(". ")
