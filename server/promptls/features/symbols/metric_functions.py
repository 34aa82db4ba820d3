"""Metrics that are functions of Python files: headers that name one, its definition, its uses in Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from promptls.features.named_values import NamedValue, file_beside, named_value_at, named_values
from promptls.features.symbols.symbol import Occurrence, Symbol, Use
from promptls.meaning.template import Template
from promptls.syntax.source import Source
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def metric_at(snapshot: Snapshot, template: Template, path: str, offset: int) -> Symbol | None:
    """The metric whose function is named at `offset`, as in `metrics.py:labels_match`."""
    value = named_value_at(template, offset)
    span = _function_span(value) if value is not None else None
    if value is None or span is None or not span.start <= offset <= span.end:
        return None
    name, home = template.source.slice(span), _file_of(path, value)
    program = snapshot.template(home)
    if program is None or name not in _defined(program.source.text):
        return None
    return Symbol("metric", name, path, span, home)


def metric_places(snapshot: Snapshot, symbol: Symbol) -> Iterator[Occurrence | None]:
    """Every place of a metric; None stands between the files.

    Of Python, those are the function and what reads its name in its own file and in files that import it.
    Where a file gives the name to something else as well, its readings are left out.
    """
    for path in sorted({*snapshot.graph.paths, *snapshot.open_files}):
        yield None
        template = snapshot.template(path) if path != symbol.home else None
        for value in named_values(template) if template is not None else ():
            span = _function_span(value)
            is_named = span is not None and value.name.endswith(f":{symbol.name}")
            if span is not None and is_named and _file_of(path, value) == symbol.home:
                yield Occurrence(path, span, "read", "header")
    for path in sorted({symbol.home, *snapshot.written, *snapshot.calls}):
        yield None
        program = snapshot.template(path)
        if program is not None and symbol.name in program.source.text:
            module = None if path == symbol.home else Path(symbol.home).stem
            for start, end, use in _uses(program.source.text, symbol.name, module):
                yield Occurrence(path, Span(start, end), use, "python")


def _function_span(value: NamedValue) -> Span | None:
    if value.kind != "metric" or value.file is None:
        return None
    return Span(value.span.end - len(value.name.rpartition(":")[2]), value.span.end)


def _file_of(path: str, value: NamedValue) -> str:
    return file_beside(path, value.file or "")


@lru_cache(maxsize=32)
def _defined(text: str) -> frozenset[str]:
    """The functions at the top level of a Python text; none where it cannot be parsed."""
    tree = _parsed(text)
    return frozenset(node.name for node in (tree.body if tree else ()) if isinstance(node, _FUNCTIONS))


@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=8)
def _uses(text: str, name: str, module: str | None) -> tuple[tuple[int, int, Use], ...]:
    """The places of a function in a Python text: its own file's, or one that imports it from `module`."""
    tree = _parsed(text)
    if tree is None:
        return ()
    source = Source.of(text)
    nodes = list(ast.walk(tree))
    if module is None:
        certain = [
            _name_place(source, node.lineno, name)
            for node in tree.body
            if isinstance(node, _FUNCTIONS) and node.name == name
        ]
    else:
        certain = [_place(source, alias, name) for alias in _imported(nodes, name, module)]
    if not certain or _gives_to_others(nodes, name, 1 if module is None else 0):
        return tuple(certain)
    readings = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    return (*certain, *(_place(source, node, name) for node in readings))


def _imported(nodes: list[ast.AST], name: str, module: str) -> Iterator[ast.alias]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == module:
            yield from (each for each in node.names if each.name == name and each.asname is None)


def _gives_to_others(nodes: list[ast.AST], name: str, own: int) -> bool:
    """Whether the text gives the name to anything but the function, which it defines `own` times."""
    functions = sum(isinstance(node, _FUNCTIONS) and node.name == name for node in nodes)
    return functions > own or any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        for node in nodes
    )


def _name_place(source: Source, line: int, name: str) -> tuple[int, int, Use]:
    """The place of the name behind `def`."""
    span = source.line_span(line - 1)
    start = span.start + source.slice(span).index(name)
    return start, start + len(name), "declaration"


def _place(source: Source, node: ast.Name | ast.alias, name: str) -> tuple[int, int, Use]:
    """A place of Python's parser, whose columns count bytes, in characters from the start."""
    span = source.line_span(node.lineno - 1)
    start = span.start + len(source.slice(span).encode()[: node.col_offset].decode(errors="ignore"))
    return start, start + len(name), "read"
