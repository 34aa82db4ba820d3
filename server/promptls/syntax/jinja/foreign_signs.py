"""Operators, quotes and constants of other languages, and their equivalents in Jinja."""

from __future__ import annotations

from typing import Final

_SIGNS: Final = {
    "=": "; did you mean `==`?",
    "&": "; did you mean `and`?",
    "|": "; did you mean `or`?",
    "!": "; did you mean `not`?",
    "?": "; Jinja writes `a if b else c`",
    "`": '; a text stands in `"`',
    "“": '; a text stands in `"`',
    "”": '; a text stands in `"`',
    "‘": "; a text stands in `'`",  # noqa: RUF001 - this character is intended
    "’": "; a text stands in `'`",  # noqa: RUF001 - this character is intended
}

_PAIRS: Final = {
    "===": "; did you mean `==`?",
    "!==": "; did you mean `!=`?",
    "<>": "; did you mean `!=`?",
    "->": "; did you mean `.`?",
    "=>": "; Jinja has no functions inside of expressions",
}

FOREIGN_CONSTANTS: Final = {
    "null": "none",
    "NULL": "none",
    "nil": "none",
    "TRUE": "true",
    "FALSE": "false",
}
"""Constants of other languages, which are variables in Jinja, each with its equivalent in Jinja."""
STEPS: Final = frozenset({"++", "--", "+=", "-=", "*=", "/=", "~="})
"""Operators that increment or update a variable in other languages."""


def shown(sign: str) -> str:
    """Return a sign as displayed in messages."""
    return "a backtick" if sign == "`" else f"`{sign}`"


def advice_on_pair(signs: str) -> str | None:
    """Return the end of a message about two adjacent signs that are one operator in other languages.

    None for any other signs.
    """
    return _PAIRS.get(signs)


def advice_on_sign(sign: str) -> str:
    """Return the end of a message about a sign in an invalid position.

    Empty if there is no specific advice.
    """
    return _SIGNS.get(sign, "")
