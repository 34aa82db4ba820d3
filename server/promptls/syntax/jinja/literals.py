"""The values of the numbers and strings that are written in a tag."""

from __future__ import annotations

import ast

from promptls.syntax.jinja.tokens import Token


def number_value(token: Token) -> int | float:
    """The number; infinity where it has more digits than Python reads."""
    text = token.text.replace("_", "")
    try:
        return float(text) if token.kind == "float" else int(text, 0) if text.strip("0") else 0
    except ValueError:
        return float("inf")


def string_value(text: str) -> str:
    """The text between the quotes, with its escapes read; as it stands where one of them is wrong."""
    try:
        value = ast.literal_eval(text.replace("\n", "\\n").replace("\r", "\\r"))
    except (ValueError, SyntaxError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]
