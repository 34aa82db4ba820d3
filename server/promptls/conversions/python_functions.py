"""The functions, methods and operators that are carried out on the data of a Python configuration.

Each is harmless: it reads no file, looks up no attribute, and what would grow too large is refused.
"""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable
from copy import deepcopy
from itertools import islice, product
from string import Formatter
from typing import Any, Final

from promptls.conversions.python_symbol import Symbol, is_known

MOST_ITEMS: Final = 100_000
"""The most items of a list or a mapping."""
_MOST_TEXT: Final = 5_000_000
_MOST_BITS: Final = 10_000


def _in_order(*items: Any) -> list[Any]:
    return list(islice(product(*items), MOST_ITEMS))


OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}
COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "len": len, "str": str, "int": int, "float": float, "bool": bool, "list": list, "tuple": tuple,
    "set": set, "sorted": sorted, "range": lambda *limits: list(range(*limits)),
    "enumerate": lambda *items: list(enumerate(*items)), "sum": sum, "min": min, "max": max, "abs": abs,
    "zip": lambda *items: list(zip(*items, strict=False)), "reversed": lambda items: list(reversed(items)),
    "chr": chr, "ord": ord, "round": round, "product": _in_order, "itertools.product": _in_order,
    "deepcopy": deepcopy, "copy.deepcopy": deepcopy, "copy.copy": lambda value: value.copy(),
    "os.path.join": posixpath.join, "os.path.dirname": posixpath.dirname,
    "osp.join": posixpath.join, "osp.dirname": posixpath.dirname, "os.path.abspath": lambda path: path,
}  # fmt: skip
METHODS: Final[dict[type, frozenset[str]]] = {
    str: frozenset(
        {
            "replace", "format", "lower", "upper", "capitalize", "title", "strip", "lstrip", "rstrip",
            "split", "splitlines", "join", "startswith", "endswith", "removeprefix", "removesuffix",
            "count", "find", "index",
        }
    ),
    dict: frozenset({"keys", "values", "items", "get", "copy", "update", "pop", "setdefault"}),
    list: frozenset(
        {"append", "extend", "insert", "copy", "index", "count", "pop", "remove", "sort", "reverse"}
    ),
    set: frozenset({"add", "union", "update", "copy"}),
}  # fmt: skip
CUTTING: Final = frozenset({"strip", "lstrip", "rstrip", "removeprefix", "removesuffix"})
"""Methods that leave a stretch of a text."""
FORMAT_SPEC: Final = re.compile(r"0?\d{0,2},?(\.\d{1,2})?[a-z%]?")
"""A width of at most 99: what is formatted stays small."""
HOLDING: Final = frozenset(
    {"deepcopy", "copy.deepcopy", "copy.copy", "len", "list", "sum", "zip", "enumerate", "product"}
)
"""Functions that take lists and mappings in which there are symbols."""
STRAY: Final = (
    TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError,
)  # fmt: skip
"""What a wrong configuration raises where it is run, and what makes a symbol here."""


def can_compare(op: type[ast.cmpop], first: Any, second: Any) -> bool:
    """Whether what is known of two values decides a comparison of them."""
    if op in {ast.In, ast.NotIn} and isinstance(second, dict):
        return is_known((first, list(second)))
    if (
        op in {ast.Eq, ast.NotEq, ast.Is, ast.IsNot}
        and isinstance(first, Symbol)
        and isinstance(second, Symbol)
    ):
        # Names of classes and functions are one thing where they are one word.
        return first.text.isidentifier() and second.text.isidentifier()
    return is_known((first, second))


def is_harmless(text: str, method: str, arguments: list[Any]) -> bool:
    """Whether the method of a text makes nothing huge, and reaches into no value."""
    if method == "format":
        fields = [
            field for _, field, spec, how in Formatter().parse(text) if spec or how or not _is_plain(field)
        ]
        return not fields
    if method in {"replace", "join"}:
        longest = max((len(str(each)) for each in arguments), default=0)
        return (len(text) + 1) * longest <= _MOST_TEXT
    return True


def _is_plain(field: str | None) -> bool:
    return field is None or not field or field.isidentifier() or field.isdigit()


def is_huge(value: Any) -> bool:
    """Whether the value is larger than data of a configuration would be."""
    if isinstance(value, str):
        return len(value) > _MOST_TEXT
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() > _MOST_BITS
    return isinstance(value, list | tuple | dict | set) and len(value) > MOST_ITEMS
