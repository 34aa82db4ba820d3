"""Texts that may say something of those around them, so that they are not read by themselves."""

from __future__ import annotations

import re
from typing import Final

_UNSURE_LINE: Final = re.compile(r"\n(?:---|\.\.\.|%|[ ]*(?:-[ ]+)*\?(?=\s|\Z))")
"""A line that may say something of others: of documents, or with a key that a `?` begins."""
_UNSURE_SIGNS: Final = ("\ufeff", "\x85", "\u2028", "\u2029")
"""Line ends and marks that libyaml counts in its own way."""
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_ANCHOR: Final = re.compile(r"&\S")
_FLOW_KEY: Final = re.compile(r"[\[{,]\s*\?(?=\s|\Z)")
"""A key in brackets that a `?` begins."""


def has_other_lines(text: str) -> bool:
    """Whether libyaml may count the lines of a text in its own way."""
    return any(sign in text for sign in _UNSURE_SIGNS)


def is_unsure(text: str) -> bool:
    """Whether a text may say something of what stands around it."""
    if "\r" in text and _LONE_RETURN.search(text):
        return True
    if has_other_lines(text) or _UNSURE_LINE.search(f"\n{text}"):
        return True
    if "?" in text and _FLOW_KEY.search(text):
        return True
    return any(
        match.start() == 0 or text[match.start() - 1] in " \t\r\n[{,:-" for match in _ANCHOR.finditer(text)
    )
