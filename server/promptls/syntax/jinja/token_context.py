"""The context of a position by the tokens before it: open brackets, complete operands, the current call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Expression, Item, Name, walk
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tokens import Token, tokenize
from promptls.text.positions import Span

CLOSING_OF: Final = {"(": ")", "[": "]", "{": "}"}
"""The closing bracket of each opening one."""
_OPERAND_FOLLOWS: Final = frozenset({"and", "or", "not", "if", "else", "in", "elif", "is", "import"})
_OPERANDS: Final = (Name, Attribute, Item, Call, Constant, Collection)


def open_brackets(tokens: Sequence[Token]) -> list[int]:
    """Return the indexes of the brackets that are open after the tokens, outermost first."""
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text in CLOSING_OF:
            stack.append(index)
        elif stack and token.text == CLOSING_OF[tokens[stack[-1]].text]:
            stack.pop()
    return stack


def is_called(before: list[Token]) -> bool:
    """Return whether a parenthesis after these tokens begins arguments."""
    last = before[-1]
    if last.kind == "name":
        return last.text not in _OPERAND_FOLLOWS or is_test_name(before)
    return last.kind == "operator" and last.text in {")", "]"}


def is_test_name(before: Sequence[Token]) -> bool:
    """Return whether the last token is a test's name."""
    at = len(before) - 2
    if at >= 1 and before[at].text == "not" and before[at].kind == "name":
        at -= 1
    return at >= 0 and before[at].kind == "name" and before[at].text == "is" and before[-1].kind == "name"


def is_operand_end(before: Sequence[Token]) -> bool:
    """Return whether an operand is complete after the tokens."""
    if not before:
        return False
    last = before[-1]
    if last.kind == "name":
        return last.text not in _OPERAND_FOLLOWS
    if last.kind == "operator":
        return last.text in CLOSING_OF.values()
    return True


def operand_before(text: str, inner_start: int, end: int) -> Expression | None:
    """Return the operand of a tag that ends at `end`: `a.b` of `x + a.b`, `f(a.b`."""
    end = len(text[:end].rstrip())
    if end <= inner_start:
        return None
    tokens = tokenize(text, inner_start, end)[:-1]
    opened = open_brackets(tokens)
    begin = tokens[opened[-1]].start + 1 if opened else inner_start
    grouped = _group_start(tokens)
    statement = parse_tag(text[:end], inner_start, end).statement
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests, *statement.targets):
        for node in walk(expression):
            if grouped is not None:
                if grouped < node.span.start and node.span.end < end:
                    return node
            elif node.span.end == end and node.span.start >= begin and isinstance(node, _OPERANDS):
                return node
    last = tokens[-1]
    return Name(Span(last.start, last.end), last.text) if last.kind == "name" else None


def _group_start(tokens: Sequence[Token]) -> int | None:
    """Return where the parentheses begin that the last token closes, or None if they are those of a call."""
    if not tokens or tokens[-1].text != ")":
        return None
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        if tokens[index].kind == "operator":
            depth += (tokens[index].text == ")") - (tokens[index].text == "(")
        if depth == 0:
            is_call = index > 0 and is_called(list(tokens[:index]))
            return None if is_call else tokens[index].start
    return None


def compared_before(text: str, inner_start: int, before: list[Token]) -> Expression | None:
    """Return the operand that the value after these tokens is compared with."""
    if not before or before[-1].text not in {"==", "!="}:
        return None
    return operand_before(text, inner_start, before[-1].start)


def looked_for_before(
    text: str, inner_start: int, before: list[Token], brackets: Sequence[int]
) -> Expression | None:
    """Return the operand that is searched in the list being written: `tone` of `tone not in ['dry', `."""
    opening = brackets[-1] if brackets else 0
    if opening == 0 or before[opening].text not in {"[", "("} or before[opening - 1].text != "in":
        return None
    is_negated = opening > 1 and before[opening - 2].text == "not"
    return operand_before(text, inner_start, before[opening - 1 - is_negated].start)


def last_at_depth_zero(tokens: Sequence[Token], *texts: str) -> int | None:
    """Return the index of the last of these keywords or operators outside of all brackets."""
    depth, found = 0, None
    for index, token in enumerate(tokens):
        if token.kind == "operator" and token.text in CLOSING_OF:
            depth += 1
        elif token.kind == "operator" and token.text in CLOSING_OF.values():
            depth -= 1
        elif depth == 0 and token.kind in {"operator", "name"} and token.text in texts:
            found = index
    return found


class OpenCall(NamedTuple):
    """A call whose parenthesis is open at a position.

    `kind` is `function`, `filter`, `test` or `definition` (the parameters of a `macro` or `call` tag);
    `target` is what is called, or the object of a method. `arguments` is the number of commas before the
    position, `keyword` the name of the argument there; `start` is the offset of the parenthesis.
    """

    kind: str
    name: str
    target: Expression | None
    arguments: int
    keyword: str
    given: tuple[str, ...]
    start: int


def open_call(text: str, inner_start: int, place: int) -> OpenCall | None:
    """Return the innermost call that is open at `place` in a tag, or None if there is none."""
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
    commas, keyword, named = _arguments(tokens[index + 1 :])
    target = operand_before(text, inner_start, tokens[index].start) if kind == "function" else None
    return OpenCall(kind, name, target, commas, keyword, tuple(named), tokens[index].start)


def _call_kind(before: list[Token], *, is_statement: bool) -> str:
    words = [token.text for token in before] if is_statement else []
    if words == ["call"] or words[:-1] == ["macro"]:
        return "definition"
    if words[:-1] == ["filter"] or (before[:-1] and before[-2].text == "|"):
        return "filter"
    return "test" if is_test_name(before) else "function"


def _arguments(tokens: list[Token]) -> tuple[int, str, list[str]]:
    """Return the number of commas, the name of the last argument, and all keyword names."""
    depth = commas = 0
    keyword, named = "", []
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
            named.append(keyword)
    return commas, keyword, named
