"""The tag that an unknown one probably stands for."""

from __future__ import annotations

from typing import Final

from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.text.nearest import nearest

_OTHER_TAGS: Final = {
    "elseif": "elif",
    "elsif": "elif",
    "elsf": "elif",
    "assign": "set",
    "let": "set",
    "var": "set",
    "foreach": "for",
    "endforeach": "endfor",
}
_EXTENSIONS: Final = frozenset({"do", "break", "continue", "trans", "pluralize", "endtrans", "debug"})


def meant_tag(keyword: str) -> str | None:
    """The tag that an unknown one probably stands for: one of the same letters, or the nearest."""
    if keyword in _OTHER_TAGS:
        return _OTHER_TAGS[keyword]
    letters = sorted(keyword)
    same = next((known for known in sorted(KEYWORDS) if sorted(known) == letters), None)
    return same or nearest(keyword, KEYWORDS)


def advice_on_tag(keyword: str, behind: str) -> str:
    """The end of a message on an unknown tag with the text behind its keyword."""
    if keyword in _EXTENSIONS:
        return ": it belongs to an extension of Jinja, and Prompt Poet loads none"
    if keyword == "end":
        first = (behind.split() or [""])[0]
        known = f"end{first}" in KEYWORDS
        return (
            f"; did you mean `end{first}`?" if known else "; the end of a block has its name, as `endif` does"
        )
    meant = meant_tag(keyword)
    return f"; did you mean `{meant}`?" if meant else ""
