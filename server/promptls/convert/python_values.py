"""The values of a configuration in Python: data, texts with their source expressions, and symbols."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice, product
from string import Formatter
from typing import Any, Final, NamedTuple

from promptls.text.errors import UserError

_MAX_VALUES: Final = 200_000
_MAX_DEPTH: Final = 60
MAX_ITEMS: Final = 100_000
"""The maximum number of items of a list or mapping."""
_MAX_TEXT: Final = 5_000_000
_MAX_BITS: Final = 10_000


@dataclass(frozen=True, slots=True)
class PythonSymbol:
    """A class, a function, or another value whose source only is known."""

    text: str

    def __str__(self) -> str:
        return self.text


class TextPiece(NamedTuple):
    """A piece of a text and the expression that produced it, or None if that is unknown.

    The expression produced `whole`, in which the piece begins at `start`. For a value that is known only at
    run time, `text` is its source, and `is_symbol` is true.
    """

    text: str
    node: ast.expr | ast.keyword | None = None
    whole: str = ""
    start: int = 0
    is_symbol: bool = False


class PlacedText(str):
    """A text with its pieces, whose concatenation is the text."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> PlacedText:
        """Return the text made of pieces without symbols."""
        made = cls("".join(piece.text for piece in pieces))
        made.pieces = tuple(pieces)
        return made

    def __deepcopy__(self, _memo: object) -> PlacedText:
        """Return the text itself: its expressions are not copied with the values of a configuration."""
        return self


class MixedText(PythonSymbol):
    """A text whose pieces are known texts or symbols."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> MixedText:
        """Return the text made of the pieces."""
        made = cls("".join(piece.text for piece in pieces))
        object.__setattr__(made, "pieces", tuple(pieces))
        return made

    def __deepcopy__(self, _memo: object) -> MixedText:
        """Return the text itself, as above."""
        return self


def place_text(text: str, node: ast.expr | ast.keyword) -> PlacedText:
    """Return the text of a literal, or of an argument's name."""
    return PlacedText.of([TextPiece(text, node, text)])


def join_texts(values: Sequence[Any]) -> PlacedText | MixedText:
    """Return the concatenation of the values."""
    pieces = [piece for value in values for piece in pieces_of(value)]
    known = not any(piece.is_symbol for piece in pieces)
    return PlacedText.of(pieces) if known else MixedText.of(pieces)


def cut_text(text: str, made: str) -> str:
    """Return the result of a method that strips the ends of a text."""
    if not isinstance(text, PlacedText) or not made:
        return made
    start = text.index(made)
    cut, begin = [], 0
    for piece in text.pieces:
        first, last = max(start - begin, 0), min(start + len(made) - begin, len(piece.text))
        if first < last:
            cut.append(piece._replace(text=piece.text[first:last], start=piece.start + first))
        begin += len(piece.text)
    return PlacedText.of(cut)


def pieces_of(value: Any) -> tuple[TextPiece, ...]:
    """Return the pieces of a value as a text."""
    if isinstance(value, PlacedText | MixedText):
        return value.pieces
    return (TextPiece(str(value), is_symbol=isinstance(value, PythonSymbol)),)


def is_known(value: Any) -> bool:
    """Return whether the value contains no symbols, at any depth."""
    pending, seen = [value], set[int]()
    while pending:
        each = pending.pop()
        if isinstance(each, PythonSymbol):
            return False
        if isinstance(each, dict | list | tuple | set):
            if id(each) in seen:
                continue
            seen.add(id(each))
            pending += [*each, *each.values()] if isinstance(each, dict) else each
    return True


def as_data(value: Any) -> Any:
    """Return the value as YAML data: symbols become their source, tuples and sets become lists.

    Raises UserError for a value that contains itself, or is too large or too deeply nested.
    """
    copied = 0

    def copy(value: Any, depth: int) -> Any:
        nonlocal copied
        copied += 1
        if copied > _MAX_VALUES or depth > _MAX_DEPTH:
            raise UserError(
                "the configuration's data is too large or nested too deeply", remedy="write out one dataset"
            )
        if isinstance(value, dict):
            return {_plain(key): copy(item, depth + 1) for key, item in value.items()}
        if isinstance(value, set):
            return [copy(each, depth + 1) for each in sorted(value, key=str)]
        if isinstance(value, list | tuple):
            return [copy(each, depth + 1) for each in value]
        return _plain(value)

    return copy(value, 0)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | None) else str(value)


def _in_order(*items: Any) -> list[Any]:
    return list(islice(product(*items), MAX_ITEMS))


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
    dict: frozenset({"keys", "values", "items", "get", "copy", "update", "pop", "setdefault", "deepcopy"}),
    list: frozenset(
        {"append", "extend", "insert", "copy", "index", "count", "pop", "remove", "sort", "reverse"}
    ),
    set: frozenset({"add", "union", "update", "copy"}),
}  # fmt: skip
"""Methods that are evaluated; `deepcopy` is a method of MMEngine's mappings."""
CUTTING: Final = frozenset({"strip", "lstrip", "rstrip", "removeprefix", "removesuffix"})
"""Methods that return a substring of a text."""
FORMAT_SPEC: Final = re.compile(r"0?\d{0,2},?(\.\d{1,2})?[a-z%]?")
"""Format specifications with a width of at most 99, which bounds the length of the result."""
HOLDING: Final = frozenset(
    {"deepcopy", "copy.deepcopy", "copy.copy", "len", "list", "sum", "zip", "enumerate", "product"}
)
"""Functions that accept lists and mappings containing symbols."""
STRAY: Final = (
    TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError,
)  # fmt: skip
"""Exceptions raised by running an invalid configuration; here, the result becomes a symbol instead."""


def can_compare(op: type[ast.cmpop], first: Any, second: Any) -> bool:
    """Return whether a comparison of two values can be decided from what is known of them."""
    if op in {ast.In, ast.NotIn} and isinstance(second, dict):
        return is_known((first, list(second)))
    if (
        op in {ast.Eq, ast.NotEq, ast.Is, ast.IsNot}
        and isinstance(first, PythonSymbol)
        and isinstance(second, PythonSymbol)
    ):
        # Classes and functions are identified by name.
        return first.text.isidentifier() and second.text.isidentifier()
    return is_known((first, second))


def is_harmless(text: str, method: str, arguments: Sequence[Any]) -> bool:
    """Return whether a text method cannot produce a huge result or access attributes of a value."""
    if method == "format":
        return all(
            not spec and not how and (not field or field.isidentifier() or field.isdigit())
            for _, field, spec, how in Formatter().parse(text)
        )
    if method in {"replace", "join"}:
        longest = max((len(str(each)) for each in arguments), default=0)
        return (len(text) + 1) * longest <= _MAX_TEXT
    return True


def is_huge(value: Any) -> bool:
    """Return whether the value is larger than the data of a configuration."""
    if isinstance(value, PlacedText | MixedText) and len(value.pieces) > MAX_ITEMS:
        return True
    if isinstance(value, str):
        return len(value) > _MAX_TEXT
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() > _MAX_BITS
    return isinstance(value, list | tuple | dict | set) and len(value) > MAX_ITEMS
