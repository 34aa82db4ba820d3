"""The representation of expressions in compiled templates, used to find the data of a value.

An expression that reads data is represented by plain tuples in the compiled code:

- `"name"` reads a variable;
- `(".", of, key)` reads an attribute or an item of an expression;
- `("()", of, "items")` is the result of a mapping's method, for loops;
- `("[]", of, key)` reads an item whose key is also an expression;
- `("|", of)` is a value derived from one by a filter or a string method;
- `("?", test, one, other)` is one of two values, and `("or", one, other)` the first that is set;
- `("+", *several)` is a value derived from several others.

Any other expression is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from jinja2 import nodes

from promptls.text.format import shorten_line

_MAPPING_METHODS: Final = frozenset({"items", "keys", "values"})
TEXT_METHODS: Final = frozenset(name for name in dir(str) if not name.startswith("_"))
_LONGEST_TAG: Final = 80


def expression_of(node: nodes.Node) -> Any:
    """Return the representation of the expression at `node`."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return _made(".", node.node, node.attr)
    if isinstance(node, nodes.Getitem):
        return _item(node)
    if isinstance(node, nodes.CondExpr):
        other = None if node.expr2 is None else expression_of(node.expr2)
        return ("?", expression_of(node.test), expression_of(node.expr1), other)
    if isinstance(node, nodes.Or | nodes.And):
        return ("or", expression_of(node.left), expression_of(node.right))
    if isinstance(node, nodes.Filter) and node.name in {"default", "d"} and node.node is not None:
        return ("or", expression_of(node.node), expression_of(node.args[0]) if node.args else None)
    if isinstance(node, nodes.Call) and (called := _called(node)) is not None:
        return called
    return None if isinstance(node, nodes.Const) else _several(node)


def _item(node: nodes.Getitem) -> Any:
    if isinstance(node.arg, nodes.Slice):
        return _made("|", node.node)
    if not isinstance(node.arg, nodes.Const):
        of, key = expression_of(node.node), expression_of(node.arg)
        return None if of is None or key is None else ("[]", of, key)
    key = node.arg.value
    return _made(".", node.node, key) if isinstance(key, str | int) else None


def _called(node: nodes.Call) -> Any:
    """Return the representation of a call that returns a mapping's values, or one of them."""
    function = node.node
    if not isinstance(function, nodes.Getattr):
        return None
    if function.attr in _MAPPING_METHODS and not node.args:
        return _made("()", function.node, function.attr)
    if function.attr == "get" and node.args and isinstance(node.args[0], nodes.Const):
        key = node.args[0].value
        return _made(".", function.node, key) if isinstance(key, str | int) else None
    return None


def _several(node: nodes.Node) -> Any:
    """Return a representation of everything that an expression reads."""
    children = list(node.iter_child_nodes())
    if isinstance(node, nodes.Call):
        function = node.node
        # The text of a method call is read; the name of a function is not.
        children[0:1] = [function.node] if isinstance(function, nodes.Getattr) else []
    found = [each for each in map(expression_of, children) if each is not None]
    return ("|", found[0]) if len(found) == 1 else ("+", *found) if found else None


def _made(kind: str, of: nodes.Node, *more: Any) -> Any:
    inner = expression_of(of)
    return None if inner is None else (kind, inner, *more)


def targets_of(node: nodes.Node) -> Any:
    """Return the targets of a loop: a name, or a tuple of targets."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Tuple):
        return tuple(map(targets_of, node.items))
    return None


_LONG: Final[tuple[type[nodes.Expr], ...]] = (nodes.Mul, nodes.Pow, nodes.Call, nodes.Filter)
"""Operations that can take very long with few characters of code."""


def takes_long(node: nodes.Node) -> bool:
    """Return whether the node itself, without its body, may take very long."""
    own: tuple[nodes.Node | None, ...] = ()
    if isinstance(node, nodes.Expr):
        own = (node,)
    elif isinstance(node, nodes.For):
        own = (node.iter, node.test)
    elif isinstance(node, nodes.If):
        own = (node.test, *(branch.test for branch in node.elif_))
    elif isinstance(node, nodes.Assign):
        own = (node.node,)
    elif isinstance(node, nodes.With):
        own = tuple(node.values)
    elif isinstance(node, nodes.CallBlock | nodes.FilterBlock | nodes.AssignBlock):
        return True
    return any(each is not None and (isinstance(each, _LONG) or any(map(each.find, _LONG))) for each in own)


class Bindings(NamedTuple):
    """The names that a section of a template binds outside of loops."""

    values: dict[str, list[Any]]
    """Each name, with all expressions that it is set to."""
    set_on_top: tuple[str, ...]
    """The names that may be set for the rest of the file."""
    captured: tuple[str, ...]
    """The names used in macros, which read them when they are called."""


def bindings_of(tree: nodes.Template) -> tuple[Any, ...]:
    """Return the Bindings of a tree, as plain tuples."""
    values: dict[str, list[Any]] = {}
    on_top: list[str] = []
    captured: set[str] = set()
    for node in tree.find_all(_BINDING):
        if isinstance(node, nodes.With):
            for target, value in zip(node.targets, node.values, strict=True):
                expression = expression_of(value) if isinstance(target, nodes.Name) else None
                for name in _names(target):
                    values.setdefault(name, []).append(expression)
            continue
        expression = expression_of(node.node) if isinstance(node, nodes.Assign) else None
        if isinstance(node, nodes.Assign) and not isinstance(node.target, nodes.Name):
            expression = None
        names = _bound(node)
        on_top += names
        if isinstance(node, nodes.Macro | nodes.CallBlock):
            captured.update(name.name for name in node.find_all(nodes.Name))
            names = [*names, *(name for target in node.args for name in _names(target))]
        for name in names:
            values.setdefault(name, []).append(expression)
    return values, tuple(on_top), tuple(sorted(captured))


_BINDING: Final = (
    nodes.Assign,
    nodes.AssignBlock,
    nodes.With,
    nodes.Macro,
    nodes.CallBlock,
    nodes.Import,
    nodes.FromImport,
)


def _bound(node: nodes.Node) -> list[str]:
    """Return the names that a statement itself sets."""
    if isinstance(node, nodes.Macro):
        return [node.name]
    if isinstance(node, nodes.Import):
        return [node.target]
    if isinstance(node, nodes.FromImport):
        return [name if isinstance(name, str) else name[1] for name in node.names]
    if isinstance(node, nodes.Assign | nodes.AssignBlock):
        return _names(node.target)
    return []


def _names(target: nodes.Node) -> list[str]:
    return [name.name for name in (target, *target.find_all(nodes.Name)) if isinstance(name, nodes.Name)]


def loop_text(text: str, start: int, end: int) -> str:
    """Return a tag's text without its delimiters, on one line."""
    inside = text[start:end].removeprefix("{%").removesuffix("%}").strip("-+ \t\n")
    return shorten_line(inside, _LONGEST_TAG)


VALUE: Final = "read"
"""Convert a text to pieces; leave other values unchanged."""
TEXT: Final = "read_text"
"""Convert any value to a text with pieces."""
ITEMS: Final = "read_items"
"""Convert the texts in a list to pieces."""
TEXTS: Final = "read_texts"
"""Convert everything in a list to texts with pieces."""

_OF_TEXT: Final = frozenset(
    {
        "capitalize", "center", "e", "escape", "forceescape", "indent", "lower", "replace", "safe", "string",
        "striptags", "title", "tojson", "trim", "truncate", "upper", "urlencode", "wordwrap",
    }
)  # fmt: skip
"""Filters of a text that preserve its characters, or replace them one by one."""
_OF_ITEMS: Final = frozenset(
    {"first", "last", "list", "map", "random", "reject", "reverse", "select", "sort", "unique"}
)
"""Filters that pass on the items of a list."""
_DEFAULTS: Final = frozenset({"default", "d"})


class Read(NamedTuple):
    """An expression, and the function above to call with its value."""

    node: nodes.Expr
    how: str


def reads_of(node: nodes.Node, how: str = VALUE) -> Iterator[Read]:
    """Yield the reads in an expression whose value is converted by the function `how`."""
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
    """Return whether an expression reads a variable, or a value inside of one."""
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
        has_attribute = bool(node.args[1:] or node.kwargs)
        yield from reads_of(node.node, ITEMS if has_attribute else TEXTS)
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
        # A macro argument that is unchanged data is found in the data by its identity.
        yield from _of_all([value for value in values if not is_read(value)], VALUE)


def _of_format(node: nodes.Mod) -> Iterator[Read]:
    yield from reads_of(node.left, VALUE)
    values = node.right.items if isinstance(node.right, nodes.Tuple) else [node.right]
    if isinstance(node.right, nodes.Dict):
        values = [pair.value for pair in node.right.items]
    yield from _of_all(values, VALUE)
