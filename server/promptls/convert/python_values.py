"""The values of Python expressions, as far as plain data and a few harmless functions give them."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice, product
from string import Formatter
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.text.errors import UserError

_MAX_VALUES: Final = 200_000
_DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Symbol:
    """A class, a function, or whatever else is known by its source alone."""

    text: str

    def __str__(self) -> str:
        return self.text


def is_known(value: Any) -> bool:
    """Return whether nothing in the value, which may be nested, is a symbol."""
    waiting, seen = [value], set[int]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, Symbol):
            return False
        if isinstance(each, dict | list | tuple | set):
            if id(each) in seen:
                continue
            seen.add(id(each))
            waiting += [*each, *each.values()] if isinstance(each, dict) else each
    return True


def as_data(value: Any) -> Any:
    """Return the value as YAML can hold it: symbols are their text, tuples and sets are lists.

    Raises UserError for a value that holds itself, and for one that is too large or too deep.
    """
    return _Copy().of(value, 0)


class _Copy:
    """Copies values, and counts what it has copied."""

    def __init__(self) -> None:
        self._copied = 0

    def of(self, value: Any, depth: int) -> Any:
        self._copied += 1
        if self._copied > _MAX_VALUES or depth > _DEEPEST:
            raise UserError(
                "the configuration's data is too large or too deep", remedy="write out one dataset"
            )
        if isinstance(value, dict):
            return {_key(key): self.of(its, depth + 1) for key, its in value.items()}
        if isinstance(value, set):
            return [self.of(each, depth + 1) for each in sorted(value, key=str)]
        if isinstance(value, list | tuple):
            return [self.of(each, depth + 1) for each in value]
        return value if isinstance(value, str | int | float | bool | None) else str(value)


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | None) else str(key)


def _plain(text: str, _node: ast.expr | ast.keyword) -> str:
    return text


def _cut(_text: str, made: str) -> str:
    return made


def _joined(pieces: Sequence[Any]) -> Any:
    return "".join(map(str, pieces))


class Reader(NamedTuple):
    """How texts are made, for who wants to know more of them than their characters.

    `text` gives the text that a literal, or the name of an argument, is; `joined` what several pieces make,
    symbols among them; `cut` what is left of a text whose ends were cut off. `doubted` is told of each value
    that code which is not read may change. An `is_exact` reader makes a symbol of a text that depends on
    one, else the symbol's source stands in it.
    """

    text: Callable[[str, ast.expr | ast.keyword], str] = _plain
    joined: Callable[[Sequence[Any]], Any] = _joined
    cut: Callable[[str, str], str] = _cut
    doubted: Callable[[Any], None] = lambda _value: None
    is_exact: bool = False


PLAIN: Final = Reader()


MAX_ITEMS: Final = 100_000
"""The most items of a list or a mapping."""
_MAX_TEXT: Final = 5_000_000
_MAX_BITS: Final = 10_000


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
    """Return whether what is known of two values decides a comparison of them."""
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
    """Return whether the method of a text makes nothing huge, and reaches into no value."""
    if method == "format":
        fields = [
            field for _, field, spec, how in Formatter().parse(text) if spec or how or not _is_plain(field)
        ]
        return not fields
    if method in {"replace", "join"}:
        longest = max((len(str(each)) for each in arguments), default=0)
        return (len(text) + 1) * longest <= _MAX_TEXT
    return True


def _is_plain(field: str | None) -> bool:
    return field is None or not field or field.isidentifier() or field.isdigit()


def is_huge(value: Any) -> bool:
    """Return whether the value is larger than data of a configuration would be."""
    if isinstance(value, str):
        return len(value) > _MAX_TEXT
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() > _MAX_BITS
    return isinstance(value, list | tuple | dict | set) and len(value) > MAX_ITEMS


Names: TypeAlias = dict[str, Any]
"""The variables of a file by name."""
OpenBeside: TypeAlias = Callable[[str], str | None]
"""The text of a file by its path from the configuration's folder; None if there is none to read."""

GLOBALS: Final = "globals()"
"""Under which a function finds the variables of its file."""
MAX_STEPS: Final = 400_000
"""How many expressions are looked at; a configuration that needs more is no configuration."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """What `open` gives: a file that lies beside the configuration."""

    text: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the configuration defines, and the variables that it sees."""

    node: ast.FunctionDef
    names: Names

    def __str__(self) -> str:
        return self.node.name


def _uncalled(function: Function, _arguments: list[Any], _keywords: dict[str, Any]) -> Any:
    return Symbol(f"{function}()")


class Evaluator:
    """Reads expressions; counts its steps, and keeps what it could not read in `unread`.

    What calls a function of the configuration is set as `call`.
    """

    def __init__(self, open_beside: OpenBeside, reader: Reader = PLAIN) -> None:
        """Begin with no steps done; texts that the configuration opens come from `open_beside`."""
        self.steps = 0
        self.reader: Final = reader
        self.call: Callable[[Function, list[Any], dict[str, Any]], Any] = _uncalled
        self._open_beside = open_beside
        self.unread: dict[str, None] = {}

    def value(self, node: ast.expr, names: Names) -> Any:
        """Return the value of `node`, or a symbol; raises UserError for what takes too many steps."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise UserError("the configuration computes more than data needs", remedy="write its data out")
        try:
            made = self._value(node, names)
        except STRAY:
            return self._symbol(node)
        return self._symbol(node) if is_huge(made) else made

    def _value(self, node: ast.expr, names: Names) -> Any:  # noqa: C901, PLR0912 - one case a kind of node
        match node:
            case ast.Constant(value=value):
                return self.reader.text(value, node) if isinstance(value, str) else value
            case ast.Name(id=name):
                return names.get(name, Symbol(name))
            case ast.Attribute(value=inner, attr=name):
                return Symbol(f"{self.value(inner, names)}.{name}")
            case ast.Dict():
                return self._mapping(node, names)
            case ast.List(elts=items):
                return list(self._items(items, names))
            case ast.Tuple(elts=items):
                return tuple(self._items(items, names))
            case ast.Set(elts=items):
                return set(self._items(items, names))
            case ast.JoinedStr(values=pieces):
                return self.reader.joined([self._piece(piece, names) for piece in pieces])
            case ast.Call():
                return self._call(node, names)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._operation(node, type(op), self.value(left, names), self.value(right, names))
            case ast.Subscript(value=inner, slice=index):
                return self._item(node, self.value(inner, names), index, names)
            case ast.IfExp(test=test, body=body, orelse=other):
                chosen = self.value(test, names)
                return (
                    self._symbol(node)
                    if not is_known(chosen)
                    else self.value(body if chosen else other, names)
                )
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
                return self._logic(node, names)
            case ast.ListComp(elt=item, generators=loops):
                return [self.value(item, scope) for scope in self._scopes(loops, names)]
            case ast.GeneratorExp(elt=item, generators=loops):
                return [self.value(item, scope) for scope in self._scopes(loops, names)]
            case ast.SetComp(elt=item, generators=loops):
                return {self.value(item, scope) for scope in self._scopes(loops, names)}
            case ast.DictComp(key=key, value=item, generators=loops):
                return {
                    self.value(key, scope): self.value(item, scope) for scope in self._scopes(loops, names)
                }
            case _:
                return self._symbol(node)

    def bind(self, target: ast.expr, value: Any, names: Names) -> None:
        """Let the names, or the item, that `target` is have the value."""
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if isinstance(value, list | tuple) and len(value) == len(targets):
                    for each, its in zip(targets, value, strict=True):
                        self.bind(each, its, names)
            case ast.Subscript(value=inner, slice=index):
                holder, key = self.value(inner, names), self.value(index, names)
                if isinstance(holder, dict) or (isinstance(holder, list) and isinstance(key, int)):
                    try:
                        holder[key] = value
                    except STRAY:
                        self._symbol(target)
            case _:
                self._symbol(target)

    def _symbol(self, node: ast.expr) -> Symbol:
        source = " ".join(ast.unparse(node).split())
        self.unread[source] = None
        return Symbol(source)

    def _items(self, items: list[ast.expr], names: Names) -> Iterator[Any]:
        for item in items:
            if isinstance(item, ast.Starred):
                yield from self.value(item.value, names)
            else:
                yield self.value(item, names)

    def _mapping(self, node: ast.Dict, names: Names) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                made.update(self.value(item, names))
            else:
                made[self.value(key, names)] = self.value(item, names)
        return made

    def _piece(self, piece: ast.expr, names: Names) -> Any:
        if isinstance(piece, ast.FormattedValue):
            value = self.value(piece.value, names)
            spec = self.value(piece.format_spec, names) if piece.format_spec else ""
            if piece.conversion == ord("r"):
                value = repr(value)
            if not is_known(value):
                return value if self.reader.is_exact else str(value)
            if isinstance(value, str) and not spec:
                return value
            return format(value, spec if FORMAT_SPEC.fullmatch(str(spec)) else "")
        return self.value(piece, names)

    def _call(self, node: ast.Call, names: Names) -> Any:
        called = node.func
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, names)
            keywords.update(value if keyword.arg is None else {self.reader.text(keyword.arg, keyword): value})
        if isinstance(called, ast.Name) and called.id == "dict":
            made: dict[Any, Any] = dict(self.value(node.args[0], names)) if node.args else {}
            return {**made, **keywords}
        arguments = list(self._items(node.args, names))
        if isinstance(called, ast.Attribute):
            holder = self.value(called.value, names)
            if called.attr in METHODS.get(str if isinstance(holder, str) else type(holder), ()):
                return self._method(node, holder, called.attr, arguments, keywords)
            if isinstance(holder, TextFile) and called.attr == "read":
                return holder.text
        name = str(self.value(called, names))
        if name in {"locals", "globals"}:
            return dict(names) if name == "locals" else names.get(GLOBALS, names)
        if name == "eval" and len(arguments) == 1 and str(arguments[0]).isidentifier():
            return self.value(ast.Name(str(arguments[0])), names)
        if name == "open" and arguments and isinstance(arguments[0], str):
            text = self._open_beside(arguments[0])
            return self._symbol(node) if text is None else TextFile(text)
        if isinstance(called, ast.Name) and isinstance(names.get(name), Function):
            return self.call(names[name], arguments, keywords)
        return self._carried_out(node, name, arguments, keywords)

    def _carried_out(self, node: ast.Call, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Return what one of the harmless functions makes of the arguments; of others, a symbol."""
        function = FUNCTIONS.get(name)
        if function is None or not (is_known(arguments) or name in HOLDING):
            self.reader.doubted((arguments, keywords))
            return self._symbol(node)
        if name == "range" and (len(arguments) == 0 or len(range(*arguments)) > MAX_ITEMS):
            return self._symbol(node)
        return function(*arguments, **keywords)

    def _method(
        self, node: ast.Call, holder: Any, name: str, arguments: list[Any], keywords: Mapping[str, Any]
    ) -> Any:
        if isinstance(holder, str) and not is_known((arguments, dict(keywords))):
            if self.reader.is_exact:
                return self._symbol(node)
            arguments = [str(each) if isinstance(each, Symbol) else each for each in arguments]
            keywords = {key: str(each) for key, each in keywords.items()}
        if isinstance(holder, str) and not is_harmless(holder, name, arguments):
            return self._symbol(node)
        made = getattr(holder, name)(*arguments, **keywords)
        if isinstance(holder, str) and name in CUTTING:
            return self.reader.cut(holder, made)
        return list(made) if name in {"keys", "values", "items"} else made

    def _operation(self, node: ast.expr, op: type[ast.operator], left: Any, right: Any) -> Any:
        if op is ast.Add and isinstance(left, list | tuple) and type(left) is type(right):
            return operator.add(left, right)
        if op is ast.Add and isinstance(left, str | Symbol) and isinstance(right, str | Symbol):
            is_text = isinstance(left, str) or isinstance(right, str)
            return self.reader.joined((left, right)) if is_text else self._symbol(node)
        if not is_known((left, right)):
            return self._symbol(node)
        if op is ast.Mult:
            sizes = [len(each) for each in (left, right) if isinstance(each, str | list | tuple)]
            times = [each for each in (left, right) if isinstance(each, int)]
            if sizes and times and sizes[0] * times[0] > MAX_ITEMS:
                return self._symbol(node)
        if op is ast.Mod and isinstance(left, str):
            return self._symbol(node)
        return OPERATORS[op](left, right)

    def _item(self, node: ast.expr, holder: Any, index: ast.expr, names: Names) -> Any:
        if not isinstance(holder, dict | list | tuple | str):
            return self._symbol(node)
        if isinstance(index, ast.Slice):
            bounds = [
                None if each is None else self.value(each, names)
                for each in (index.lower, index.upper, index.step)
            ]
            return holder[slice(*bounds)] if not isinstance(holder, dict) else self._symbol(node)
        return holder[self.value(index, names)]

    def _logic(self, node: ast.expr, names: Names) -> Any:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                value = self.value(inner, names)
                return not value if is_known(value) else self._symbol(node)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.value(inner, names)
            case ast.BoolOp(op=op, values=values):
                chosen: Any = None
                for each in values:
                    chosen = self.value(each, names)
                    if not is_known(chosen):
                        return self._symbol(node)
                    if bool(chosen) is isinstance(op, ast.Or):
                        break
                return chosen
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                first, second = self.value(left, names), self.value(right, names)
                compare = COMPARISONS.get(type(op))
                can_tell = can_compare(type(op), first, second)
                return compare(first, second) if compare and can_tell else self._symbol(node)
        return self._symbol(node)

    def _scopes(self, loops: list[ast.comprehension], names: Names) -> Iterator[Names]:
        if not loops:
            yield names
            return
        loop, *rest = loops
        for item in self.value(loop.iter, names):
            scope = dict(names)
            self.bind(loop.target, item, scope)
            tests = [self.value(test, scope) for test in loop.ifs]
            if all(isinstance(test, Symbol) or test for test in tests):
                yield from self._scopes(rest, scope)
