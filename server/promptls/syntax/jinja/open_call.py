"""The call whose arguments are being written at a place inside a tag."""

from __future__ import annotations

from typing import NamedTuple

from promptls.syntax.jinja.nodes import Expression
from promptls.syntax.jinja.token_context import (
    CLOSING_OF,
    is_called,
    is_test_name,
    open_brackets,
    operand_before,
)
from promptls.syntax.jinja.tokens import Token, tokenize


class OpenCall(NamedTuple):
    """A call whose parenthesis is open at a place.

    `kind` is `function`, `filter`, `test` or `definition` (the parameters of a `macro` or `call` tag);
    `target` is what is called, or what a method is called of. `arguments` says how many commas stand
    before the place, `keyword` which argument is named there; `start` is the parenthesis.
    """

    kind: str
    name: str
    target: Expression | None
    arguments: int
    keyword: str
    given: tuple[str, ...]
    start: int


def open_call(text: str, inner_start: int, place: int) -> OpenCall | None:
    """The innermost call that is open at `place` in a tag; None where there is none."""
    tokens = tokenize(text, inner_start, place)[:-1]
    quote = next((i for i, token in enumerate(tokens) if token.kind == "unknown"), None)
    tokens = tokens if quote is None else tokens[:quote]
    for index in reversed(open_brackets(tokens)):
        if tokens[index].text == "(" and index and is_called(tokens[:index]):
            return _call(text, inner_start, tokens, index)
    return None


def _call(text: str, inner_start: int, tokens: list[Token], index: int) -> OpenCall:
    before = tokens[:index]
    kind = _call_kind(before, is_statement=text.startswith("{%"))
    name = before[-1].text
    commas, keyword, given = _arguments(tokens[index + 1 :])
    target = operand_before(text, inner_start, tokens[index].start) if kind == "function" else None
    return OpenCall(kind, name, target, commas, keyword, tuple(given), tokens[index].start)


def _call_kind(before: list[Token], *, is_statement: bool) -> str:
    words = [token.text for token in before] if is_statement else []
    if words == ["call"] or words[:-1] == ["macro"]:
        return "definition"
    if words[:-1] == ["filter"] or (before[:-1] and before[-2].text == "|"):
        return "filter"
    return "test" if is_test_name(before) else "function"


def _arguments(tokens: list[Token]) -> tuple[int, str, list[str]]:
    """The commas, the name of the last argument, and the names of all that have one."""
    depth = commas = 0
    keyword, given = "", []
    for index, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text in CLOSING_OF:
            depth += 1
        elif token.text in CLOSING_OF.values():
            depth -= 1
        elif depth == 0 and token.text == ",":
            commas += 1
            keyword = ""
        elif depth == 0 and token.text == "=" and index and tokens[index - 1].kind == "name":
            keyword = tokens[index - 1].text
            given.append(keyword)
    return commas, keyword, given
