"""File names made from text that others wrote, such as a prompt's name or a column of a dataset."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

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
        return "holds a control character"
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
