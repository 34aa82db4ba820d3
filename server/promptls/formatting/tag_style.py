"""The one spacing of a Jinja tag.

One space inside the delimiters, around operators, `|` and `~`; none inside brackets,
around `.`, in front of `,` and around the `=` of an argument. Line breaks inside a tag stay
with the indentation behind them, and so do trims (`-`, `+`) and the text of strings.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from promptls.formatting.proof import same_tokens
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tokens import Token, tokenize

_WORDS: Final = frozenset({"and", "or", "not", "in", "is", "if", "else", "recursive", "ignore", "import"})
"""Names that are no operand, so that what follows them is no call, no item and no second operand."""
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_SIGNS: Final = frozenset({"+", "-", "*", "**"})
_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
_TRAILING: Final = re.compile(r"[ \t]+(?=[\r\n])")
_RAW: Final = re.compile(r"\{%([-+]?)\s*raw\s*(-?)%\}(?P<body>.*)\{%([-+]?)\s*endraw\s*([-+]?)%\}", re.DOTALL)
_COMMENT: Final = re.compile(r"\{#(?P<before>[-+]?)(?P<text>[^\r\n]*?)(?P<behind>[-+]?)#\}")


def styled(tag: Tag) -> str:
    """The tag's text in the one style; the text as it is where jinja2 could read it in another way."""
    return _styled(tag.kind, tag.text, tag.inner_start, tag.inner_end) if not tag.unclosed else tag.text


@lru_cache(maxsize=8192)
def _styled(kind: str, text: str, inner_start: int, inner_end: int) -> str:
    if kind == "raw":
        made = _raw(text)
    elif kind == "comment":
        made = _comment(text)
    else:
        inside = _inside(text, inner_start, inner_end)
        made = text if inside is None else f"{text[:inner_start]}{inside}{text[inner_end:]}"
    return made if made == text or same_tokens(text, made) else text


def _raw(text: str) -> str:
    match = _RAW.fullmatch(text)
    if match is None:
        return text
    before, behind, body, end_before, end_behind = match.groups()
    return f"{{%{before} raw {behind}%}}{body}{{%{end_before} endraw {end_behind}%}}"


def _comment(text: str) -> str:
    """A comment of one line that begins and ends with words gets a space on either side."""
    match = _COMMENT.fullmatch(text)
    if match is None:
        return text
    inside = match["text"]
    before = " " if inside[:1].isalnum() else ""
    behind = " " if inside[-1:].isalnum() or inside[-1:] in {".", "!", "?"} else ""
    return f"{{#{match['before']}{before}{inside}{behind}{match['behind']}#}}"


def _inside(text: str, start: int, end: int) -> str | None:
    """What stands between the delimiters, spaced; None where a character fits no token."""
    tokens = tokenize(text, start, end)[:-1]
    if not tokens or any(token.kind == "unknown" for token in tokens):
        return None
    is_statement = text.startswith("{%")
    pieces = [_kept_or(text[start : tokens[0].start], " ")]
    brackets: list[str] = []
    for index, token in enumerate(tokens):
        if token.text in _CLOSING and token.kind == "operator" and brackets:
            brackets.pop()
        if index:
            written = text[tokens[index - 1].end : token.start]
            space = _space(tokens, index, brackets, is_statement=is_statement)
            pieces.append(_kept_or(written, space))
        pieces.append(token.text)
        if token.text in _OPENING and token.kind == "operator":
            called = token.text != "{" and index and _is_operand(tokens, index - 1, is_statement=is_statement)
            brackets.append(f"{token.text}{'call' if called else ''}")
    pieces.append(_kept_or(text[tokens[-1].end : end], " "))
    return "".join(pieces)


def _kept_or(written: str, space: str) -> str:
    """The white space that is due; what is written where it holds a line break or anything uncommon."""
    if not _PLAIN_SPACE.fullmatch(written):
        return written
    if "\n" in written or "\r" in written:
        return _TRAILING.sub("", written)
    return space


def _space(tokens: list[Token], index: int, brackets: list[str], *, is_statement: bool) -> str:
    """The space in front of token `index`, inside the brackets that are open there."""
    before, token = tokens[index - 1], tokens[index]
    around = brackets[-1] if brackets else ""
    if _is_operator(before, _OPENING) or _is_operator(token, _CLOSING) or _is_operator(token, {","}):
        return ""
    if "." in {before.text, token.text} and "operator" in {before.kind, token.kind}:
        return ""
    if around and _is_operator(before, {"="}):
        return ""
    if before.kind == "operator" and before.text in _SIGNS and _is_sign(tokens, index - 1, is_statement):
        return ""
    if token.kind == "operator" and token.text in {"(", "["}:
        return "" if _is_operand(tokens, index - 1, is_statement=is_statement) else " "
    if _is_operator(token, {":"}):
        return ""
    if _is_operator(before, {":"}):
        return " " if around.startswith("{") else ""
    return "" if around and _is_operator(token, {"="}) else " "


def _is_operator(token: Token, texts: frozenset[str] | set[str]) -> bool:
    return token.kind == "operator" and token.text in texts


def _is_sign(tokens: list[Token], index: int, is_statement: bool) -> bool:
    """Whether the operator at `index` has no operand in front of it: a sign, or `*` of an argument."""
    return index == 0 or not _is_operand(tokens, index - 1, is_statement=is_statement)


def _is_operand(tokens: list[Token], index: int, *, is_statement: bool) -> bool:
    """Whether the token ends something that can be called, subscripted or calculated with."""
    token = tokens[index]
    if token.kind in {"string", "integer", "float"}:
        return True
    if token.kind == "operator":
        return token.text in _CLOSING
    if index and _is_operator(tokens[index - 1], {"."}):
        return True
    if index == 0 and is_statement:
        return token.text == "call"  # `{% call(item) list() %}` is how Jinja's own pages write it
    return token.text not in _WORDS
