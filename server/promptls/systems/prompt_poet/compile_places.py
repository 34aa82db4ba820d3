"""Which line of a template stopped its compilation, where Jinja does not say."""

from __future__ import annotations

import re
import traceback
from typing import Any, Final, NamedTuple

from jinja2 import Environment, nodes
from jinja2.parser import Parser

_LINES: Final = re.compile(r"^debug_info = '([0-9=&]*)'$", re.MULTILINE)
"""Where generated code says which of its lines are which of the template."""


class CompilePlace(NamedTuple):
    """The template file that was being compiled, and its 0-based line, where they are known."""

    path: str | None
    line: int | None


def compile_place(error: BaseException) -> CompilePlace | None:
    """Where `error` stopped the compilation of a template; None where none was being compiled."""
    path: str | None = None
    line: int | None = None
    code = ""
    is_compiling = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        names = frame.f_locals
        of: Any = names.get("self")
        node = of if isinstance(of, nodes.Node) else names.get("node")
        if frame.f_code is Environment.compile.__code__:
            is_compiling, path, line = True, names["filename"], None
        elif isinstance(of, Parser):
            line = of.stream.current.lineno - 1
        elif isinstance(node, nodes.Node) and not isinstance(node, nodes.Template):
            line = node.lineno - 1
        source = names.get("source")
        if isinstance(source, str) and _LINES.search(source):
            code = source
    if not is_compiling:
        return None
    if isinstance(error, SyntaxError) and error.lineno is not None:
        line = _line_of(code, error.lineno)
    elif line is None and code:
        # Python could not compile it: an expression of such a depth makes the longest line.
        lines = code.split("\n")
        line = _line_of(code, 1 + max(range(len(lines)), key=lambda number: len(lines[number])))
    return CompilePlace(path, line)


def _line_of(code: str, number: int) -> int | None:
    """The 0-based line of the template that the line `number` of the generated code was made of."""
    found = _LINES.search(code)
    line: int | None = None
    for pair in found[1].split("&") if found and found[1] else ():
        template, generated = map(int, pair.split("="))
        if generated <= number:
            line = template - 1
    return line
