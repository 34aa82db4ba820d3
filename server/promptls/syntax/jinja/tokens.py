"""The tokens inside one Jinja tag, with their offsets.

The rules are those of jinja2 3.1's lexer (names are Python identifiers, strings may contain
line breaks, numbers may contain underscores); a character that does not match becomes a token
of kind `unknown` instead of an error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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


class Token(NamedTuple):
    """A token: its kind, its text and its offset from the start of the tag."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)


def tokenize(text: str, start: int, end: int) -> list[Token]:
    """Return the tokens of `text[start:end]`, without white space, followed by a token of kind `end`."""
    tokens = [
        Token(match.lastgroup or "unknown", match.group(), match.start())
        for match in _TOKEN.finditer(text, start, end)
        if match.lastgroup != "space"
    ]
    tokens.append(Token("end", "", end))
    return tokens
