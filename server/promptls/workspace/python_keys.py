"""Where the keys of a template's data stand in a Python call that writes them out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from promptls.text.lines import line_starts
from promptls.text.span import Span
from promptls.workspace.python_calls import TemplateCall, data_of
from promptls.workspace.python_scopes import Scope, scopes_of

_TEXT: Final = re.compile(r"""[rRuU]?('|"|\'{3}|"{3})(\w+)\1""")


def key_spans(text: str, call: TemplateCall, name: str) -> tuple[Span, ...]:
    """The places of one key in the data of a call, without quotes; `text` is that of the call's file.

    None where the text is another one than that in which the call was found.
    """
    if name not in call.keys:
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    places = _Places(text)
    for scope in scopes_of(tree):
        for node in scope.calls:
            if places.end_of(node.func) == call.span.end:
                data = data_of(node) or ()
                return tuple(span for each in data for span in _keys(each, scope, places, name))
    return ()


def _keys(data: ast.expr, scope: Scope, places: _Places, name: str) -> Iterator[Span]:
    written = scope.constant_of(data.id) if isinstance(data, ast.Name) else data
    if isinstance(written, ast.Dict):
        for key in written.keys:
            if isinstance(key, ast.Constant) and key.value == name:
                span = places.inside_quotes(key, name)
                if span is not None:
                    yield span
    elif isinstance(written, ast.Call):
        for keyword in written.keywords:
            if keyword.arg == name:
                start = places.offset(keyword.lineno, keyword.col_offset)
                yield Span(start, start + len(name))


class _Places:
    """The offsets, in code points, of what Python's parser places by lines and bytes."""

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
        """The span of a text's letters, where they are written as they are."""
        start = self.offset(node.lineno, node.col_offset)
        written = self._text[start : self.end_of(node)]
        match = _TEXT.fullmatch(written)
        if match is None or match.group(2) != name:
            return None
        return Span(start + match.start(2), start + match.end(2))
