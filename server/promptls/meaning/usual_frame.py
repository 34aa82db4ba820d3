"""Broken parts as they were probably meant, to tell whether they are parts at all.

Somebody may indent keys with tabs or with too few spaces, or forget the space behind a dash.
"""

from __future__ import annotations

import re
from typing import Final

from promptls.systems.prompt_poet.vocabulary import PART_KEYS

_KEYS: Final = "|".join(PART_KEYS)
_DASH: Final = re.compile(rf"^-[ \t]*({_KEYS})[ ]*:[ ]*(?=\S|$)", re.MULTILINE)
_KEY: Final = re.compile(rf"^(?:[ ]{{1,3}}|[ ]*\t[ \t]*)({_KEYS})[ ]*:", re.MULTILINE)
_TABS: Final = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)


def in_usual_frame(text: str) -> str | None:
    """The text with the keys of its parts where they stand as a rule; None where that is the text itself."""
    found = _DASH.sub(r"- \1: ", text)
    found = _KEY.sub(r"  \1:", found)
    found = _TABS.sub("    ", found)
    return found if found != text else None
