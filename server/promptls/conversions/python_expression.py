"""The values of Python expressions, as far as plain data and a few harmless functions give them.

Nothing is run: names, calls and operators that are not listed here become symbols.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from promptls.conversions.python_functions import (
    COMPARISONS,
    CUTTING,
    FORMAT_SPEC,
    FUNCTIONS,
    HOLDING,
    METHODS,
    MOST_ITEMS,
    OPERATORS,
    STRAY,
    can_compare,
    is_harmless,
    is_huge,
)
from promptls.conversions.python_symbol import Symbol, is_known
from promptls.conversions.text_reader import PLAIN, Reader
from promptls.text.failure import Failure

Names: TypeAlias = dict[str, Any]
"""The variables of a file by name."""
OpenBeside: TypeAlias = Callable[[str], str | None]
"""The text of a file by its path from the configuration's folder; None where there is none to read."""

GLOBALS: Final = "globals()"
"""Under which a function finds the variables of its file."""
MOST_STEPS: Final = 400_000
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
        """The value of `node`, or a symbol; raises Failure for what takes too many steps."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Failure("the configuration computes more than data needs", remedy="write its data out")
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
        """What one of the harmless functions makes of the arguments; of others, a symbol."""
        function = FUNCTIONS.get(name)
        if function is None or not (is_known(arguments) or name in HOLDING):
            self.reader.doubted((arguments, keywords))
            return self._symbol(node)
        if name == "range" and (len(arguments) == 0 or len(range(*arguments)) > MOST_ITEMS):
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
            if sizes and times and sizes[0] * times[0] > MOST_ITEMS:
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
