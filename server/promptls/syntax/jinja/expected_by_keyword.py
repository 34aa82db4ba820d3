"""What may stand behind the tokens of a Jinja tag, outside every string: each statement has its own form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from promptls.syntax.jinja.expectation import OPERATORS, Expected
from promptls.syntax.jinja.token_context import (
    compared_before,
    is_called,
    is_operand_end,
    last_at_depth_zero,
    looked_for_before,
    open_brackets,
    operand_before,
)
from promptls.syntax.jinja.tokens import Token
from promptls.text.span import Span


def expected_behind(text: str, inner_start: int, before: list[Token]) -> Expected | None:
    """What may stand behind the tag's tokens `before`, its word a span of nothing."""
    if text.startswith("{{"):
        return _expression(text, inner_start, before, "output", OPERATORS)
    if not before:
        return Expected("tag", Span(0, 0))
    keyword, rest = before[0].text, before[1:]
    reader = _BY_KEYWORD.get(keyword)
    found = reader(text, inner_start, rest) if reader else None
    return found._replace(keyword=keyword) if found else None


def _expression(
    text: str, inner_start: int, before: list[Token], keyword: str, operators: tuple[str, ...]
) -> Expected | None:
    """What may stand behind tokens that are an expression's beginning."""
    nowhere = Span(0, 0)
    if not before:
        return Expected("expression", nowhere, keyword)
    last = before[-1]
    if last.text == "." and last.kind == "operator":
        target = operand_before(text, inner_start, last.start)
        return Expected("attribute", nowhere, keyword, target) if len(before) > 1 else None
    if last.text == "|":
        return Expected("filter", nowhere, keyword)
    if last.kind == "name" and len(before) > 1 and last.text in {"is", "not"}:
        if last.text == "is":
            return Expected("test", nowhere, keyword, words=("not",))
        if before[-2].text == "is":
            return Expected("test", nowhere, keyword)
    if is_operand_end(before):
        return Expected("operator", nowhere, keyword, words=operators)
    brackets = open_brackets(before)
    is_argument = bool(brackets) and before[brackets[-1]].text == "(" and last.text in {"(", ","}
    calls = is_argument and brackets[-1] > 0 and is_called(before[: brackets[-1]])
    target = compared_before(text, inner_start, before)
    if last.text in {"[", "(", ","}:
        target = looked_for_before(text, inner_start, before, brackets)
    return Expected("expression", nowhere, keyword, target, calls=calls)


def _words(*words: str) -> Expected | None:
    return Expected("words", Span(0, 0), words=words) if words else None


def _plain(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    return _expression(text, inner_start, rest, "", OPERATORS)


def _for(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = next((index for index, token in enumerate(rest) if token.text == "in"), None)
    if at is None:
        return _words("in") if rest and rest[-1].kind == "name" else None
    behind = rest[at + 1 :]
    return _expression(text, inner_start, behind, "", ("if", "recursive", "and", "or", "is", "in", "not in"))


def _set(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = last_at_depth_zero(rest, "=")
    if at is not None:
        return _expression(text, inner_start, rest[at + 1 :], "", OPERATORS)
    if not rest or rest[-1].text == ",":
        return Expected("target", Span(0, 0))
    if rest and rest[-1].text in {".", "|"}:
        return _expression(text, inner_start, rest, "", ())
    bar = last_at_depth_zero(rest, "|")
    return (
        _expression(text, inner_start, rest[bar:], "", ())
        if bar is not None and open_brackets(rest)
        else None
    )


def _with(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = last_at_depth_zero(rest, "=", ",")
    if at is None or rest[at].text == ",":
        return None
    return _expression(text, inner_start, rest[at + 1 :], "", OPERATORS)


def _macro(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    brackets = open_brackets(rest)
    if not brackets:
        return None
    inside = rest[brackets[0] + 1 :]
    at = last_at_depth_zero(inside, "=", ",")
    if at is None or inside[at].text == ",":
        return None
    return _expression(text, inner_start, inside[at + 1 :], "", OPERATORS)


def _call_block(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    if rest and rest[0].text == "(":
        brackets = open_brackets(rest)
        if brackets and brackets[0] == 0:
            return _macro(text, inner_start, rest)
        closing = next(index for index in range(1, len(rest) + 1) if not open_brackets(rest[:index]))
        rest = rest[closing:]
    return _expression(text, inner_start, rest, "", ())


def _filter_block(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    bar = Token("operator", "|", rest[0].start if rest else 0)
    return _expression(text, inner_start, [bar, *rest], "", ())


def _block(_text: str, _inner_start: int, rest: list[Token]) -> Expected | None:
    if not rest:
        return Expected("block", Span(0, 0))
    return _words(*(word for word in ("scoped", "required") if all(token.text != word for token in rest)))


def _end_of_block(_text: str, _inner_start: int, rest: list[Token]) -> Expected | None:
    return None if rest else Expected("block", Span(0, 0))


def _template(text: str, inner_start: int, rest: list[Token], behind: tuple[str, ...]) -> Expected | None:
    """The template's name, which any expression may give; `behind` are the words that may follow."""
    if not rest or rest[-1].text in {"[", ","}:
        return Expected("template", Span(0, 0))
    if is_operand_end(rest):
        return Expected("operator", Span(0, 0), words=(*behind, "if", "else"))
    return _expression(text, inner_start, rest, "", behind)


def _context(rest: list[Token], *others: str) -> Expected | None:
    """What may stand behind a template's name, once one of the words has been written."""
    last = rest[-1].text
    if last in {"with", "without"}:
        return _words("context")
    if last in {"context", "as"}:
        return None
    return _words(*others, "with context", "without context")


def _include(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    if last_at_depth_zero(rest, "with", "without", "ignore") is not None:
        return _words("missing") if rest[-1].text == "ignore" else _context(rest)
    return _template(text, inner_start, rest, ("ignore missing", "with context", "without context"))


def _import(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    return (
        _context(rest)
        if last_at_depth_zero(rest, "as") is not None
        else _template(text, inner_start, rest, ("as",))
    )


def _from(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = last_at_depth_zero(rest, "import")
    if at is None:
        return _template(text, inner_start, rest, ("import",))
    if rest[-1].text in {"import", ","}:
        first = rest[0]
        name = first.text[1:-1] if first.kind == "string" else ""
        return Expected("imported", Span(0, 0), template=name)
    renamed = rest[-2].text == "as"
    return _context(rest, *(() if renamed else ("as",)))


def _extends(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    return _template(text, inner_start, rest, ())


_BY_KEYWORD: Final[dict[str, Callable[[str, int, list[Token]], Expected | None]]] = {
    "for": _for,
    "if": _plain,
    "elif": _plain,
    "set": _set,
    "with": _with,
    "macro": _macro,
    "call": _call_block,
    "filter": _filter_block,
    "block": _block,
    "endblock": _end_of_block,
    "include": _include,
    "extends": _extends,
    "import": _import,
    "from": _from,
    "autoescape": _plain,
    "print": _plain,
}
