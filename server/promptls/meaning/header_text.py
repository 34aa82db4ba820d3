"""What the text of a header tells, before anything reads it as YAML."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from promptls.settings.header import Header
from promptls.text.nearest import nearest

OPENING: Final = "{#---"
CLOSING: Final = "---#}"
_KEY: Final = re.compile(r"^[ \t{]*['\"]?([A-Za-z_]\w*)['\"]?[ \t]*:", re.MULTILINE)
_FIRST_WORD: Final = re.compile(r"[A-Za-z_]*:?")
_OF_MANY: Final = frozenset({"name", "description"})
"""Keys that comments in files of other programs have too, in one spelling or another."""


def begins_header(text: str) -> bool:
    """Whether a text begins with the opening of a header, and not with a line of more dashes."""
    return text.startswith(OPENING) and not text.startswith(f"{OPENING}-")


@lru_cache(maxsize=64)
def tells_of_prompt(comment: str) -> bool:
    """Whether a comment that opens as a header says that its file is a prompt: by a key, or a slip of one.

    True too for one that is empty or has one word, because somebody is writing it.
    """
    inside = comment.removeprefix(OPENING).removesuffix("#}").rstrip("-").strip()
    keys = set(Header.model_fields)
    words = {*_KEY.findall(inside)}
    if words & keys or _FIRST_WORD.fullmatch(inside):
        return True
    return any(nearest(word, keys - _OF_MANY) for word in words)
