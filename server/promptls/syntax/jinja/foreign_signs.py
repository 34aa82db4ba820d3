"""Signs of other languages, and what Jinja has in their place."""

from __future__ import annotations

from typing import Final

_SIGNS: Final = {
    "=": "; did you mean `==`?",
    "&": "; did you mean `and`?",
    "|": "; did you mean `or`?",
    "!": "; did you mean `not`?",
    "?": "; Jinja writes `a if b else c`",
    "“": '; a text stands in `"`',
    "”": '; a text stands in `"`',
    "‘": "; a text stands in `'`",  # noqa: RUF001 - the sign that is meant
    "’": "; a text stands in `'`",  # noqa: RUF001 - the sign that is meant
}


def advice_on_sign(sign: str) -> str:
    """The end of a message on a sign that cannot stand where it does; empty where nothing is known of it."""
    return _SIGNS.get(sign, "")
