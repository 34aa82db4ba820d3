"""Locate the keys of a template's data in a Python call that contains them literally."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from promptls.text.positions import Span, line_starts
from promptls.workspace.python_calls import TemplateCall, data_of
from promptls.workspace.python_scopes import Scope, scopes_of

_TEXT: Final = re.compile(r"""[rRuU]?('|"|\'{3}|"{3})(\w+)\1""")


def key_spans(text: str, call: TemplateCall, keys: tuple[str | None, ...]) -> tuple[Span, ...]:
    """Return the positions of one key in the data of a call, without quotes; `text` is the file's text.

    `keys` are those of the enclosing dicts, outermost first, and the key itself; None matches any key, and
    lists in between are ignored. Empty if the text is no longer the one in which the call was found.
    """
    if keys[0] is not None and keys[0] not in call.keys:
        return ()
    places = _Places(text)
    return tuple(
        span
        for each, scope in _data(text, call, places)
        for span in _keys(each, scope, places, keys, is_data=True)
    )


def _data(text: str, call: TemplateCall, places: _Places) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the expressions of the data of a call, with the scope of the call."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for scope in scopes_of(tree):
        for node in scope.calls:
            if places.end_of(node.func) == call.span.end:
                for each in data_of(node) or ():
                    yield each, scope
                return


def _keys(
    data: ast.expr, scope: Scope, places: _Places, keys: tuple[str | None, ...], *, is_data: bool = False
) -> Iterator[Span]:
    """Yield the positions of a key in an expression, as far as it is literal."""
    written = scope.constant_of(data.id) if isinstance(data, ast.Name) else data
    if isinstance(written, ast.Dict):
        for key, value in zip(written.keys, written.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if keys[0] in {None, key.value}:
                if len(keys) > 1:
                    yield from _keys(value, scope, places, keys[1:])
                elif (span := places.inside_quotes(key, key.value)) is not None:
                    yield span
    elif isinstance(written, ast.Call) and (is_data or _is_dict(written)):
        for keyword in written.keywords:
            if keyword.arg is not None and keys[0] in {None, keyword.arg}:
                start = places.offset(keyword.lineno, keyword.col_offset)
                yield from (
                    _keys(keyword.value, scope, places, keys[1:])
                    if len(keys) > 1
                    else (Span(start, start + len(keyword.arg)),)
                )
    elif isinstance(written, (ast.List, ast.Tuple)):
        for item in written.elts:
            yield from _keys(item, scope, places, keys)


def _is_dict(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "dict" and not call.args


class _Places:
    """Converts the line and byte positions of Python's parser to offsets in code points."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = line_starts(text)

    def offset(self, line: int, column: int) -> int:
        begin = self._starts[min(line, len(self._starts)) - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        before = self._text[begin:end].encode("utf-8", "surrogatepass")[:column]
        return begin + len(before.decode("utf-8", "replace"))

    def end_of(self, node: ast.expr) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def inside_quotes(self, node: ast.expr, name: str) -> Span | None:
        """Return the span of a text inside its quotes, if it is written without escapes."""
        start = self.offset(node.lineno, node.col_offset)
        written = self._text[start : self.end_of(node)]
        match = _TEXT.fullmatch(written)
        if match is None or match.group(2) != name:
            return None
        return Span(start + match.start(2), start + match.end(2))
