"""Values in messages."""

from __future__ import annotations

import reprlib
from typing import Any, Final

_WORDS: Final = reprlib.Repr()
_WORDS.maxstring = _WORDS.maxother = 60
_WORDS.maxdict = _WORDS.maxlist = _WORDS.maxtuple = 4
_WORDS.maxlevel = 2


def shortened(value: Any) -> str:
    """A value on one line, as Python writes it, cut where it is long."""
    try:
        return " ".join(_WORDS.repr(value).split())
    except Exception:  # noqa: BLE001 - a user's object, and a number of thousands of digits, cannot be written
        return f"a value of type {type(value).__name__}"
