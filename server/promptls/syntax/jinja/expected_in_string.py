"""What may stand inside an open string of a Jinja tag: a template's path, a key, a value that is compared."""

from __future__ import annotations

import re

from promptls.syntax.jinja.expectation import BY_ELEMENTS_KEY, Expected
from promptls.syntax.jinja.nodes import Expression
from promptls.syntax.jinja.token_context import (
    compared_before,
    is_operand_end,
    looked_for_before,
    open_brackets,
    operand_before,
)
from promptls.syntax.jinja.tokens import Token
from promptls.text.span import Span


def expected_in_string(
    text: str, inner_start: int, inner_end: int, place: int, tokens: list[Token]
) -> Expected | None:
    """What may stand at `place`, where the last of `tokens` is a quote that nothing closes before it."""
    quote = tokens[-1]
    before = tokens[:-1]
    start = quote.start + 1
    word = Span(start, _string_end(text, place, inner_end, quote.text))
    keyword = before[0].text if before and text.startswith("{%") else "output"
    if keyword in {"include", "import", "from", "extends"} and _is_template_place(before):
        return Expected("path", word, keyword, quote=quote.text)
    brackets = open_brackets(before)
    if brackets and brackets[-1] == len(before) - 1:
        opening = before[-1]
        operand = operand_before(text, inner_start, opening.start)
        if opening.text == "[" and operand is not None and is_operand_end(before[:-1]):
            return Expected("key", word, keyword, operand, quote=quote.text)
        if opening.text == "(" and before[-2:-1] and before[-2].text == "get" and before[-3:-2]:
            target = operand_before(text, inner_start, before[-3].start)
            return Expected("key", word, keyword, target, quote=quote.text) if target else None
    elements = _filtered_by_key(text, inner_start, before)
    if elements is not None:
        return Expected("element", word, keyword, elements, quote=quote.text)
    target = compared_before(text, inner_start, before) or looked_for_before(
        text, inner_start, before, brackets
    )
    return Expected("value", word, keyword, target, quote=quote.text) if target else None


def _filtered_by_key(text: str, inner_start: int, before: list[Token]) -> Expression | None:
    """The list whose elements' key a filter is told of behind these tokens: `turns | map(attribute=`."""
    names = [token.text for token in before[-4:]]
    if names[-2:] == ["attribute", "="]:
        opened = open_brackets(before)
        call = before[: opened[-1]] if opened else []
    elif names[-1:] == ["("] and len(names) > 1 and names[-2] in BY_ELEMENTS_KEY:
        call = before[:-1]
    else:
        return None
    is_filter = len(call) > 1 and call[-2].text == "|"
    return operand_before(text, inner_start, call[-2].start) if is_filter else None


def _is_template_place(before: list[Token]) -> bool:
    """Whether a text behind these tokens names a template: the first operand, or one of its list."""
    return not any(token.kind == "name" for token in before[1:])


def _string_end(text: str, place: int, inner_end: int, quote: str) -> int:
    """Where the string ends: before its closing quote on this line, else with the word at the place."""
    stop = min((text.find(end, place, inner_end) + 1 or inner_end + 1 for end in "\r\n"), default=0) - 1
    closing = text.find(quote, place, max(stop, place))
    if closing >= 0:
        return closing
    match = re.compile(r"[\w./-]*").match(text, place, max(place, inner_end))
    return match.end() if match else place
