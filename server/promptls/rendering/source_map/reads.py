"""Which expressions of a tag only read data, and end up as text in what the tag prints.

`{{ user.name | upper }}` reads `user.name`, whose characters can be followed; `{{ user.name | length }}`
reads it too, but prints none of them. What is read where its characters stay texts is a `Read`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from jinja2 import nodes

from promptls.rendering.source_map.expressions import TEXT_METHODS, expression_of

VALUE: Final = "read"
"""A text gets pieces, and any other value stays as it is."""
TEXT: Final = "read_text"
"""Whatever it is, it becomes a text at once."""
ITEMS: Final = "read_items"
"""The texts in a list get pieces."""
TEXTS: Final = "read_texts"
"""Everything in a list becomes a text at once."""

_OF_TEXT: Final = frozenset(
    {
        "capitalize", "center", "e", "escape", "forceescape", "indent", "lower", "replace", "safe", "string",
        "striptags", "title", "tojson", "trim", "truncate", "upper", "urlencode", "wordwrap",
    }
)  # fmt: skip
"""Filters of a text that keep its characters, or replace them one by one."""
_OF_ITEMS: Final = frozenset(
    {"first", "last", "list", "map", "random", "reject", "reverse", "select", "sort", "unique"}
)
"""Filters that hand on what is in a list."""
_DEFAULTS: Final = frozenset({"default", "d"})


class Read(NamedTuple):
    """An expression, and which of the functions above is to be called with its value."""

    node: nodes.Expr
    how: str


def reads_of(node: nodes.Node, how: str = VALUE) -> Iterator[Read]:
    """The reads in an expression whose value is asked for as `how` says."""
    if is_read(node):
        assert isinstance(node, nodes.Expr)
        yield Read(node, how)
    elif isinstance(node, nodes.Filter):
        yield from _of_filter(node, how)
    elif isinstance(node, nodes.Call):
        yield from _of_call(node)
    elif isinstance(node, nodes.Getitem):
        yield from reads_of(node.node, how if isinstance(node.arg, nodes.Slice) else VALUE)
    elif isinstance(node, nodes.Concat):
        yield from _of_all(node.nodes, TEXT)
    elif isinstance(node, nodes.CondExpr):
        yield from _of_all((node.expr1, node.expr2), how)
    elif isinstance(node, nodes.Or | nodes.And):
        yield from _of_all((node.left, node.right), how)
    elif isinstance(node, nodes.Add | nodes.Mul):
        yield from _of_all((node.left, node.right), VALUE)
    elif isinstance(node, nodes.Mod):
        yield from _of_format(node)
    elif isinstance(node, nodes.List | nodes.Tuple) and how in {ITEMS, TEXTS}:
        yield from _of_all(node.items, TEXT if how == TEXTS else VALUE)


def is_read(node: nodes.Node | None) -> bool:
    """Whether an expression reads a variable, or a value that lies in one."""
    if isinstance(node, nodes.Name):
        return node.ctx == "load"
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        return False
    if isinstance(node, nodes.Getattr | nodes.Getitem):
        return is_read(node.node)
    return (
        isinstance(node, nodes.Call)
        and isinstance(node.node, nodes.Getattr)
        and node.node.attr == "get"
        and (expression_of(node) or "?")[0] == "."
    )


def _of_all(found: Iterable[nodes.Node | None], how: str) -> Iterator[Read]:
    return chain.from_iterable(reads_of(node, how) for node in found if node is not None)


def _of_filter(node: nodes.Filter, how: str) -> Iterator[Read]:
    if node.node is None:
        return
    if node.name == "join":
        is_plain = len(node.args) < 2 and not node.kwargs  # noqa: PLR2004 - the separator, and the attribute
        yield from reads_of(node.node, TEXTS if is_plain else ITEMS)
        yield from _of_all(node.args[:1], VALUE)
    elif node.name in _DEFAULTS:
        yield from _of_all((node.node, *node.args[:1]), how)
    elif node.name == "format":
        yield from _of_all((node.node, *node.args, *(pair.value for pair in node.kwargs)), VALUE)
    elif node.name == "replace":
        yield from _of_all((node.node, *node.args[1:2]), VALUE)
    elif node.name in _OF_TEXT:
        yield from reads_of(node.node, VALUE)
    elif node.name in _OF_ITEMS:
        yield from reads_of(node.node, ITEMS)


def _of_call(node: nodes.Call) -> Iterator[Read]:
    function = node.node
    values = [*node.args, *(pair.value for pair in node.kwargs)]
    if isinstance(function, nodes.Name) and function.name == "escape_special_characters":
        yield from _of_all(values, VALUE)
    elif isinstance(function, nodes.Getattr) and function.attr in TEXT_METHODS:
        yield from reads_of(function.node, VALUE)
        if function.attr == "join":
            yield from _of_all(values, ITEMS)
        elif function.attr in {"format", "replace"}:
            yield from _of_all(values if function.attr == "format" else values[1:2], VALUE)
    else:
        # What a macro gets as it stands in the data is found there by itself.
        yield from _of_all([value for value in values if not is_read(value)], VALUE)


def _of_format(node: nodes.Mod) -> Iterator[Read]:
    yield from reads_of(node.left, VALUE)
    values = node.right.items if isinstance(node.right, nodes.Tuple) else [node.right]
    if isinstance(node.right, nodes.Dict):
        values = [pair.value for pair in node.right.items]
    yield from _of_all(values, VALUE)
