"""The tokens inside one Jinja tag, with their offsets, and their equivalents in other languages."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.text.positions import Span

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
    |(?P<float>(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+\-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+))
    |(?P<integer>0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*)
    |(?P<name>[^\W\d]\w*)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<operator>//|\*\*|==|!=|>=|<=|[-+/*%~\[\](){}<>=.:|,;])
    |(?P<unknown>.)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


CLOSING_OF: Final = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A token: its kind, its text and its offset from the start of the tag."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The span of the token, counted like `start`."""
        return Span(self.start, self.end)


def tokenize(text: str, start: int, end: int) -> list[Token]:
    """Return the tokens of `text[start:end]`, without white space, followed by a token of kind `end`."""
    tokens = [
        Token(match.lastgroup or "unknown", match.group(), match.start())
        for match in _TOKEN.finditer(text, start, end)
        if match.lastgroup != "space"
    ]
    tokens.append(Token("end", "", end))
    return tokens


_SIGNS: Final = {
    "=": "; did you mean `==`?",
    "&": "; did you mean `and`?",
    "|": "; did you mean `or`?",
    "!": "; did you mean `not`?",
    "?": "; Jinja writes `a if b else c`",
    "`": '; a text is in `"`',
    "“": '; a text is in `"`',
    "”": '; a text is in `"`',
    "‘": "; a text is in `'`",  # noqa: RUF001 - this character is intended
    "’": "; a text is in `'`",  # noqa: RUF001 - this character is intended
}

ADVICE_ON_PAIRS: Final = {
    "===": "; did you mean `==`?",
    "!==": "; did you mean `!=`?",
    "<>": "; did you mean `!=`?",
    "->": "; did you mean `.`?",
    "=>": "; Jinja has no functions inside of expressions",
}
"""The ends of messages about two adjacent signs that are one operator in other languages."""

NO_VARIABLES: Final = frozenset(
    {"default", "escape", "indent", "int", "join", "lower", "safe", "string"}
    | {"striptags", "tojson", "trim", "upper"}
)
"""Filters whose names are no names of variables."""

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


def display_sign(sign: str) -> str:
    """Return a sign as displayed in messages."""
    if not sign.isprintable():
        return f"an invisible character (U+{ord(sign):04X})"
    return "a backtick" if sign == "`" else f"`{sign}`"


def advice_on_sign(sign: str) -> str:
    """Return the end of a message about a sign in an invalid position.

    Empty if there is no specific advice.
    """
    return _SIGNS.get(sign, "")
