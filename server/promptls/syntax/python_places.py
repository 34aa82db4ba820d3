"""Read and locate the expressions of Python source text, and each character of its string literals."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Final, TypeAlias, TypeGuard

from promptls.text.positions import Span, line_starts

NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` raises for text that is not Python, or that is nested too deeply for its parser."""
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BYTE_ORDER_MARK: Final = "\ufeff"


@lru_cache(maxsize=8)
def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of Python source, which callers do not change; None if it cannot be parsed."""
    try:
        return parse_quietly(text)
    except NOT_PYTHON:
        return None


def parse_quietly(text: str) -> ast.Module:
    """Return a new syntax tree of Python source, without Python's warnings; raises one of `NOT_PYTHON`.

    The warnings, such as those about escapes, are reported when the program is run.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.removeprefix(_BYTE_ORDER_MARK))


_BLOCKS: Final = ("body", "handlers", "orelse", "finalbody", "cases")


def statements_in(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what `ast.walk` does in a module, without expressions, which are most of it."""
    found: list[ast.AST] = [tree]
    for node in found:
        for block in _BLOCKS:
            below = getattr(node, block, None)
            if isinstance(below, list):
                found += below
    return iter(found)


def text_of(node: ast.AST | None) -> str | None:
    """Return the text of a string literal; None for other expressions."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def constant_in(node: ast.expr | None) -> object:
    """Return the value of a constant, with or without a minus; None for other expressions."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def argument(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def arguments(call: ast.Call, parameters: Iterable[str] = ()) -> dict[str, ast.expr]:
    """Return the arguments that are written out, by name; those without a name are of the `parameters`."""
    given = takewhile(lambda each: not isinstance(each, ast.Starred), call.args)
    named = {each.arg: each.value for each in call.keywords if each.arg}
    return {**dict(zip(parameters, given, strict=False)), **named}


def parameters(function: Function | ast.Lambda) -> list[tuple[ast.arg, ast.expr | None]]:
    """Return the parameters of a function with their defaults, without `*args` and `**kwargs`."""
    placed = [*function.args.posonlyargs, *function.args.args]
    missing = [None] * (len(placed) - len(function.args.defaults))
    defaults = [*missing, *function.args.defaults, *function.args.kw_defaults]
    return list(zip([*placed, *function.args.kwonlyargs], defaults, strict=True))


def parameter_names(function: Function) -> list[str]:
    """Return the names of a function's parameters, without `*args` and `**kwargs`."""
    return [each.arg for each, _ in parameters(function)]


def required_parameters(function: Function) -> list[str]:
    """Return the names of the parameters without a default."""
    return [each.arg for each, default in parameters(function) if default is None]


def is_dict(node: ast.expr | None) -> TypeGuard[ast.Dict | ast.Call]:
    """Return whether an expression is a mapping that is written out: in braces, or a call of `dict`."""
    match node:
        case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
            return True
    return False


def dict_items(node: ast.Dict | ast.Call) -> list[tuple[str | None, ast.expr | ast.keyword | None, ast.expr]]:
    """Return the literal keys of a mapping, where they are written, and the values; None for other keys."""
    if isinstance(node, ast.Call):
        return [(each.arg, each if each.arg else None, each.value) for each in node.keywords]
    return [(text_of(key), key, value) for key, value in zip(node.keys, node.values, strict=True)]


def key_read(node: ast.AST) -> tuple[str, ast.Constant | None]:
    """Return the variable and the literal key in `variable["key"]` and `variable.get("key")`, or nothing."""
    match node:
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str()) as key)
            | ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"),
                args=[ast.Constant(value=str()) as key, *_],
            )
        ):
            return name, key
    return "", None


def last_name(node: ast.expr) -> str:
    """Return the last component of a name such as `package.function`; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.expr) -> str:
    """Return a name such as `package.function`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


_OPENING: Final = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')")
_PLAIN_LITERAL: Final = re.compile(r"""[rRuU]?(?P<quote>'{3}|"{3}|'|")(?P<text>.*)(?P=quote)""", re.DOTALL)
_PIECE: Final = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|.)|\r\n|.", re.DOTALL
)
"""A character inside a literal, or an escape."""
_JOINED: Final = re.compile(r"[\"']\s+[\"']")
"""The end of a string and the beginning of the next one."""
_ESCAPE: Final = re.compile(r"\\[\\'\"abfnrtv0-7xuUN].*", re.DOTALL)


class PythonPlaces:
    """The positions of expressions in Python source text, in characters from its start.

    The syntax tree does not count a byte order mark.
    """

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self._begin = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
        self._starts = line_starts(text)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> Span:
        """Return the span of an expression or statement, or of the name of an argument or an import."""
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.keyword | ast.alias):
            name = node.name if isinstance(node, ast.alias) else node.arg or ""
            return Span(start, start + len(name))
        return Span(
            start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        )

    def is_quoted(self, node: ast.expr | ast.keyword) -> bool:
        """Return whether a keyword is a key in quotes, of a mapping that was written as a call."""
        start = self.span(node).start
        return isinstance(node, ast.keyword) and self.text[max(start - 1, 0) : start] in {"'", '"'}

    def name_span(self, function: Function) -> Span:
        """Return the span of the name of a function."""
        start = self.text.index("def", self._offset(function.lineno, function.col_offset)) + len("def")
        at = max(self.text.find(function.name, start), start)
        return Span(at, at + len(function.name))

    def attribute_span(self, node: ast.Attribute) -> Span:
        """Return the span of the name of an attribute, after the dot."""
        end = self.span(node).end
        return Span(end - len(node.attr), end)

    def inside_quotes(self, node: ast.Constant) -> Span | None:
        """Return the span of a text inside its quotes; None if it is not one literal without escapes."""
        written = _PLAIN_LITERAL.fullmatch(self.text, *self.span(node))
        return Span(*written.span("text")) if written and written["text"] == node.value else None

    def missing_comma(self, node: ast.expr) -> Span | None:
        """Return the place of a comma between two strings that Python joins to one."""
        joined = _JOINED.search(self.text, *self.span(node))
        return None if joined is None else Span(joined.start() + 1, joined.start() + 1)

    def module_span(self, statement: ast.ImportFrom, module: str) -> Span:
        """Return the span of an import's module name; the whole statement if it is written differently."""
        span = self.span(statement)
        at = self.text.find(module, *span)
        return span if at < 0 else Span(at, at + len(module))

    def characters(self, node: ast.expr | ast.keyword, value: str) -> tuple[Span, ...] | None:
        """Return the span of each character of the text that an expression denotes, or None if unknown."""
        span = self.span(node)
        if isinstance(node, ast.keyword):
            return tuple(Span(at, at + 1) for at in range(span.start, span.end))
        return _characters(self.text[span.start : span.end], span.start, value)

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a position in the syntax tree (line from 1, column in UTF-8 bytes)."""
        start = self._starts[min(line, len(self._starts)) - 1] + (self._begin if line == 1 else 0)
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        encoded = self.text[start:end].encode("utf-8", "surrogatepass")
        return start + len(encoded[:column].decode("utf-8", "ignore"))


@lru_cache(maxsize=256)
def _characters(source: str, start: int, value: str) -> tuple[Span, ...] | None:
    found: list[tuple[str, Span]] = []
    try:
        for token, its_start in _literals(source):
            opening = _OPENING.match(token)
            if opening is None or {"f", "b"} & set(opening[1].lower()):
                return None
            body = token[opening.end() : -len(opening[2])]
            by = start + its_start + opening.end()
            decoded = _decode(body, is_raw="r" in opening[1].lower())
            found += [(text, span.shifted(by)) for text, span in decoded]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return tuple(span for _, span in found) if "".join(text for text, _ in found) == value else None


def _literals(source: str) -> Iterator[tuple[str, int]]:
    """Yield the adjacent literals of an expression, each with its offset."""
    # In parentheses, literals can be on several lines.
    text = f"({source})"
    starts = line_starts(text)
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.STRING:
            (line, column), (end_line, end_column) = token.start, token.end
            first = starts[line - 1] + column
            yield text[first : starts[end_line - 1] + end_column], first - 1


def _decode(body: str, *, is_raw: bool) -> Iterator[tuple[str, Span]]:
    """Yield the characters that the inside of a literal denotes, each with its span."""
    for match in _PIECE.finditer(body):
        written, start = match.group(), match.start()
        if written in {"\r\n", "\r"}:
            yield "\n", Span(*match.span())
        elif not is_raw and written[1:] in {"\n", "\r", "\r\n"}:
            continue
        elif is_raw or not _ESCAPE.fullmatch(written):
            lines = (
                ("\n" if each in "\r\n" else each, at)
                for at, each in enumerate(written.replace("\r\n", "\n"))
            )
            yield from ((each, Span(start + at, start + at + 1)) for each, at in lines)
        else:
            yield str(ast.literal_eval(f'"{written}"')), Span(*match.span())
