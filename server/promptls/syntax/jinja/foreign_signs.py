"""Signs and constants of other languages, and what Jinja has in their place."""

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
    "‘": "; a text stands in `'`",  # noqa: RUF001 - the sign that is meant
    "’": "; a text stands in `'`",  # noqa: RUF001 - the sign that is meant
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
"""Constants of other languages, which are names to Jinja, each with what Jinja writes for it."""
STEPS: Final = frozenset({"++", "--", "+=", "-=", "*=", "/=", "~="})
"""What counts a variable on in other languages."""


def shown(sign: str) -> str:
    """Return a sign as messages name it."""
    return "a backtick" if sign == "`" else f"`{sign}`"


def advice_on_pair(signs: str) -> str | None:
    """Return the end of a message on two signs side by side that other languages take for one.

    None for others.
    """
    return _PAIRS.get(signs)


def advice_on_sign(sign: str) -> str:
    """Return the end of a message on a sign that cannot stand where it does.

    Empty where nothing is known of it.
    """
    return _SIGNS.get(sign, "")
