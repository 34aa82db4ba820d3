"""The context of a position inside a Jinja tag, and what can be written there, from the tokens before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Expression, Item, Name, walk
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag_tokens import CLOSING_OF, Token, tokenize
from promptls.text.positions import NOWHERE, Span

_OPERAND_FOLLOWS: Final = frozenset({"and", "or", "not", "if", "else", "in", "elif", "is", "import"})
_OPERANDS: Final = (Name, Attribute, Item, Call, Constant, Collection)


def _open_brackets(tokens: Sequence[Token]) -> list[int]:
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
        return last.text not in _OPERAND_FOLLOWS or _is_test_name(before)
    return last.kind == "operator" and last.text in {")", "]"}


def _is_test_name(before: Sequence[Token]) -> bool:
    """Return whether the last token is a test's name."""
    at = len(before) - 2
    if at >= 1 and before[at].text == "not" and before[at].kind == "name":
        at -= 1
    return at >= 0 and before[at].kind == "name" and before[at].text == "is" and before[-1].kind == "name"


def _is_operand_end(before: Sequence[Token]) -> bool:
    """Return whether an operand is complete after the tokens."""
    if not before:
        return False
    last = before[-1]
    if last.kind == "name":
        return last.text not in _OPERAND_FOLLOWS
    if last.kind == "operator":
        return last.text in CLOSING_OF.values()
    return True


def _operand_before(text: str, inner_start: int, end: int) -> Expression | None:
    """Return the operand of a tag that ends at `end`: `a.b` of `x + a.b`, `f(a.b`."""
    end = len(text[:end].rstrip())
    if end <= inner_start:
        return None
    tokens = tokenize(text, inner_start, end)[:-1]
    opened = _open_brackets(tokens)
    begin = tokens[opened[-1]].start + 1 if opened else inner_start
    grouped = _group_start(tokens)
    statement = parse_tag(text[:end], inner_start, end).statement
    for expression in (*statement.read, *statement.targets):
        for node in walk(expression):
            if grouped is not None:
                if grouped < node.span.start and node.span.end < end:
                    return node
            elif node.span.end == end and node.span.start >= begin and isinstance(node, _OPERANDS):
                return node
    last = tokens[-1]
    return Name(last.span, last.text) if last.kind == "name" else None


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


def _compared_before(text: str, inner_start: int, before: list[Token]) -> Expression | None:
    """Return the operand that the value after these tokens is compared with."""
    if not before or before[-1].text not in {"==", "!="}:
        return None
    return _operand_before(text, inner_start, before[-1].start)


def _looked_for_before(
    text: str, inner_start: int, before: list[Token], brackets: Sequence[int]
) -> Expression | None:
    """Return the operand that is searched in the list being written: `tone` of `tone not in ['dry', `."""
    opening = brackets[-1] if brackets else 0
    if opening == 0 or before[opening].text not in {"[", "("} or before[opening - 1].text != "in":
        return None
    is_negated = opening > 1 and before[opening - 2].text == "not"
    return _operand_before(text, inner_start, before[opening - 1 - is_negated].start)


def _last_at_depth_zero(tokens: Sequence[Token], *texts: str) -> int | None:
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
    position, `keyword` the name of the argument there.
    """

    kind: str
    name: str
    target: Expression | None
    arguments: int
    keyword: str
    given: tuple[str, ...]


def open_call(text: str, inner_start: int, place: int) -> OpenCall | None:
    """Return the innermost call that is open at `place` in a tag, or None if there is none."""
    tokens = tokenize(text, inner_start, place)[:-1]
    quote = next((i for i, token in enumerate(tokens) if token.kind == "unknown"), None)
    tokens = tokens if quote is None else tokens[:quote]
    for index in reversed(_open_brackets(tokens)):
        if tokens[index].text == "(" and index and is_called(tokens[:index]):
            before = tokens[:index]
            kind = _call_kind(before, is_statement=text.startswith("{%"))
            name = before[-1].text
            commas, keyword, named = _arguments(tokens[index + 1 :])
            target = _operand_before(text, inner_start, tokens[index].start) if kind == "function" else None
            return OpenCall(kind, name, target, commas, keyword, tuple(named))
    return None


def _call_kind(before: list[Token], *, is_statement: bool) -> str:
    tokens = [token.text for token in before] if is_statement else []
    if tokens == ["call"] or tokens[:-1] == ["macro"]:
        return "definition"
    if tokens[:-1] == ["filter"] or (before[:-1] and before[-2].text == "|"):
        return "filter"
    return "test" if _is_test_name(before) else "function"


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


What = Literal[
    "tag",
    "expression",
    "operator",
    "attribute",
    "filter",
    "test",
    "key",
    "value",
    "path",
    "template",
    "imported",
    "block",
    "target",
    "element",
    "words",
]
BY_ELEMENTS_KEY: Final = frozenset({"selectattr", "rejectattr", "groupby"})
"""Filters whose first argument names a key of each element."""
OPERATORS: Final = ("if", "else", "and", "or", "not in", "in", "is", "is not")
"""The keywords that may follow an operand."""


class Expected(NamedTuple):
    """What can be written at a position; spans and offsets count from the start of the tag.

    `what` is `tag` (a tag's name), `expression` (with a `target` one that it is compared with), `operator`
    (a keyword such as `if` after an operand), `attribute` or `key` (of `target`), `filter`, `test`, `value`
    (a text that `target` is compared with), `path` (inside the quotes of a template's name), `template`
    (such a name, with its quotes), `imported` (a name of the template `template`), `block` (a block's
    name), `target` (a variable that is set), `element` (a key of the elements of the list `target`),
    or `words` (only one of `words`).
    `word` is the text that is already there, left and right of the position.
    """

    what: What
    word: Span = NOWHERE
    keyword: str = ""
    target: Expression | None = None
    words: tuple[str, ...] = ()
    template: str = ""
    quote: str = ""
    calls: bool = False
    """Whether the position is the beginning of an argument, where `name=` is also possible."""


def _expected_after(text: str, inner_start: int, before: list[Token]) -> Expected | None:
    """Return what can be written after the tag's tokens `before`, with an empty span as its word."""
    if text.startswith("{{"):
        keyword, found = "output", _expression(text, inner_start, before, OPERATORS)
    elif not before:
        return Expected("tag")
    else:
        keyword = before[0].text
        reader = _BY_KEYWORD.get(keyword)
        found = reader(text, inner_start, before[1:]) if reader else None
    return found._replace(keyword=keyword) if found else None


def _expression(
    text: str, inner_start: int, before: list[Token], operators: tuple[str, ...]
) -> Expected | None:
    """Return what can be written after tokens that are the beginning of an expression."""
    if not before:
        return Expected("expression")
    last = before[-1]
    if last.text == "." and last.kind == "operator":
        target = _operand_before(text, inner_start, last.start)
        return Expected("attribute", target=target) if len(before) > 1 else None
    if last.text == "|":
        return Expected("filter")
    if last.kind == "name" and len(before) > 1 and last.text in {"is", "not"}:
        if last.text == "is":
            return Expected("test", words=("not",))
        if before[-2].text == "is":
            return Expected("test")
    if _is_operand_end(before):
        return Expected("operator", words=operators)
    brackets = _open_brackets(before)
    is_argument = bool(brackets) and before[brackets[-1]].text == "(" and last.text in {"(", ","}
    calls = is_argument and brackets[-1] > 0 and is_called(before[: brackets[-1]])
    target = _compared_before(text, inner_start, before)
    if last.text in {"[", "(", ","}:
        target = _looked_for_before(text, inner_start, before, brackets)
    return Expected("expression", target=target, calls=calls)


def _words(*words: str) -> Expected | None:
    return Expected("words", words=words) if words else None


def _plain(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    return _expression(text, inner_start, rest, OPERATORS)


def _for(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = next((index for index, token in enumerate(rest) if token.text == "in"), None)
    if at is None:
        return _words("in") if rest and rest[-1].kind == "name" else None
    after = rest[at + 1 :]
    return _expression(text, inner_start, after, ("if", "recursive", "and", "or", "is", "in", "not in"))


def _set(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = _last_at_depth_zero(rest, "=")
    if at is not None:
        return _expression(text, inner_start, rest[at + 1 :], OPERATORS)
    if not rest or rest[-1].text == ",":
        return Expected("target")
    if rest and rest[-1].text in {".", "|"}:
        return _expression(text, inner_start, rest, ())
    bar = _last_at_depth_zero(rest, "|") if _open_brackets(rest) else None
    return None if bar is None else _expression(text, inner_start, rest[bar:], ())


def _with(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = _last_at_depth_zero(rest, "=", ",")
    if at is None or rest[at].text == ",":
        return None
    return _expression(text, inner_start, rest[at + 1 :], OPERATORS)


def _macro(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    brackets = _open_brackets(rest)
    return _with(text, inner_start, rest[brackets[0] + 1 :]) if brackets else None


def _call_block(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    if rest and rest[0].text == "(":
        brackets = _open_brackets(rest)
        if brackets and brackets[0] == 0:
            return _macro(text, inner_start, rest)
        closing = next(index for index in range(1, len(rest) + 1) if not _open_brackets(rest[:index]))
        rest = rest[closing:]
    return _expression(text, inner_start, rest, ())


def _filter_block(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    bar = Token("operator", "|", rest[0].start if rest else 0)
    return _expression(text, inner_start, [bar, *rest], ())


def _block(_text: str, _inner_start: int, rest: list[Token]) -> Expected | None:
    if not rest:
        return Expected("block")
    return _words(*(word for word in ("scoped", "required") if all(token.text != word for token in rest)))


def _end_of_block(_text: str, _inner_start: int, rest: list[Token]) -> Expected | None:
    return None if rest else Expected("block")


def _template(text: str, inner_start: int, rest: list[Token], following: tuple[str, ...]) -> Expected | None:
    """Return the template's name, which can be any expression; `following` are keywords that may follow."""
    if not rest or rest[-1].text in {"[", ","}:
        return Expected("template")
    if _is_operand_end(rest):
        return Expected("operator", words=(*following, "if", "else"))
    return _expression(text, inner_start, rest, following)


def _context(rest: list[Token], *others: str) -> Expected | None:
    """Return what can be written after a template's name, once one of the keywords has been written."""
    last = rest[-1].text
    if last in {"with", "without"}:
        return _words("context")
    if last in {"context", "as"}:
        return None
    return _words(*others, "with context", "without context")


def _include(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    if _last_at_depth_zero(rest, "with", "without", "ignore") is not None:
        return _words("missing") if rest[-1].text == "ignore" else _context(rest)
    return _template(text, inner_start, rest, ("ignore missing", "with context", "without context"))


def _import(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    return (
        _context(rest)
        if _last_at_depth_zero(rest, "as") is not None
        else _template(text, inner_start, rest, ("as",))
    )


def _from(text: str, inner_start: int, rest: list[Token]) -> Expected | None:
    at = _last_at_depth_zero(rest, "import")
    if at is None:
        return _template(text, inner_start, rest, ("import",))
    if rest[-1].text in {"import", ","}:
        first = rest[0]
        name = first.text[1:-1] if first.kind == "string" else ""
        return Expected("imported", template=name)
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


def _expected_in_string(
    text: str, inner_start: int, inner_end: int, place: int, tokens: list[Token]
) -> Expected | None:
    """Return what can be written at `place` if the last of `tokens` is an unclosed quote."""
    quote = tokens[-1]
    before = tokens[:-1]
    word = Span(quote.start + 1, _string_end(text, place, inner_end, quote.text))
    keyword = before[0].text if before and text.startswith("{%") else "output"
    if keyword in {"include", "import", "from", "extends"} and _is_template_place(before):
        return Expected("path", word, keyword, quote=quote.text)
    brackets = _open_brackets(before)
    if brackets and brackets[-1] == len(before) - 1:
        opening = before[-1]
        operand = _operand_before(text, inner_start, opening.start)
        if opening.text == "[" and operand is not None and _is_operand_end(before[:-1]):
            return Expected("key", word, keyword, operand, quote=quote.text)
        if opening.text == "(" and before[-2:-1] and before[-2].text == "get" and before[-3:-2]:
            target = _operand_before(text, inner_start, before[-3].start)
            return Expected("key", word, keyword, target, quote=quote.text) if target else None
    elements = _filtered_by_key(text, inner_start, before)
    if elements is not None:
        return Expected("element", word, keyword, elements, quote=quote.text)
    target = _compared_before(text, inner_start, before) or _looked_for_before(
        text, inner_start, before, brackets
    )
    return Expected("value", word, keyword, target, quote=quote.text) if target else None


def _filtered_by_key(text: str, inner_start: int, before: list[Token]) -> Expression | None:
    """Return the list whose elements' key a filter names after these tokens: `turns | map(attribute=`."""
    names = [token.text for token in before[-4:]]
    if names[-2:] == ["attribute", "="]:
        opened = _open_brackets(before)
        call = before[: opened[-1]] if opened else []
    elif names[-1:] == ["("] and len(names) > 1 and names[-2] in BY_ELEMENTS_KEY:
        call = before[:-1]
    else:
        return None
    is_filter = len(call) > 1 and call[-2].text == "|"
    return _operand_before(text, inner_start, call[-2].start) if is_filter else None


def _is_template_place(before: list[Token]) -> bool:
    """Return whether text after these tokens names a template: the first operand, or an item of its list."""
    return not any(token.kind == "name" for token in before[1:])


def _string_end(text: str, place: int, inner_end: int, quote: str) -> int:
    """Return where the string ends: at its closing quote on this line, else at the end of the word."""
    stop = min((text.find(end, place, inner_end) + 1 or inner_end + 1 for end in "\r\n"), default=0) - 1
    closing = text.find(quote, place, max(stop, place))
    if closing >= 0:
        return closing
    match = re.compile(r"[\w./-]*").match(text, place, max(place, inner_end))
    return match.end() if match else place


_WORD: Final = re.compile(r"\w*")


def expected_in_tag(text: str, inner_start: int, inner_end: int, place: int) -> Expected | None:
    """Return what can be written at `place` in an output or statement tag, or None if nothing can.

    `text` is the tag's, `inner_start` and `inner_end` bound the text between its delimiters.
    """
    tokens = tokenize(text, inner_start, place)[:-1]
    opened = next((i for i, token in enumerate(tokens) if token.kind == "unknown"), None)
    if opened is not None:
        token = tokens[opened]
        if token.text not in {"'", '"'}:
            return None
        return _expected_in_string(text, inner_start, inner_end, place, tokens[: opened + 1])
    before, start = tokens, place
    if tokens and tokens[-1].end == place:
        if tokens[-1].kind == "name":
            before, start = tokens[:-1], tokens[-1].start
        elif tokens[-1].kind in {"integer", "float", "string"}:
            return None
    match = _WORD.match(text, place, max(place, inner_end))
    word = Span(start, match.end() if match else place)
    found = _expected_after(text, inner_start, before)
    return found._replace(word=word) if found else None
