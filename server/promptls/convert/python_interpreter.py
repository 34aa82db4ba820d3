"""Evaluates a configuration in Python as data, without running it."""

from __future__ import annotations

import ast
import operator
import posixpath
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from promptls.convert.python_values import (
    COMPARISONS,
    CUTTING,
    FORMAT_SPEC,
    FUNCTIONS,
    HOLDING,
    MAX_ITEMS,
    METHODS,
    OPERATORS,
    STRAY,
    MixedText,
    PythonSymbol,
    TextPiece,
    can_compare,
    cut_text,
    is_harmless,
    is_huge,
    is_known,
    join_texts,
    place_text,
)
from promptls.syntax.python_places import NOT_PYTHON, last_name, parameter_names, parameters, parse_quietly
from promptls.text.errors import UserError

_MAX_FILES: Final = 1_000
_MAX_STEPS: Final = 1_000_000
"""The maximum number of evaluated expressions; a configuration does not need more."""
_MAX_CALL_DEPTH: Final = 20
_THIS_FOLDER: Final = "."
_GLOBALS: Final = "globals()"
"""The name under which a function finds the variables of its file."""

Names: TypeAlias = dict[str, Any]


class Files(Protocol):
    """The files that a configuration imports or opens: none, unless a class finds some."""

    def text(self, _name: str, /) -> str | None:
        """Return the text of a file by path from the configuration's folder; None if it cannot be read."""
        return None

    def is_missing(self, _name: str, /) -> bool:
        """Return whether a path is certain to be missing."""
        return False

    def module(self, _name: str, /) -> str | None:
        """Return the path of a module's file by its absolute module name; None if it is not found."""
        return None


class NoFiles(Files):
    """The files of a configuration that is read without any others."""


def module_text(files: Files, module: str) -> str | None:
    """Return the source of a module by its absolute name; None if it cannot be read."""
    path = files.module(module)
    return None if path is None else files.text(path)


def parse_configuration(text: str) -> ast.Module:
    """Return the syntax tree of a configuration; raises UserError if it is not Python."""
    try:
        return parse_quietly(text)
    except NOT_PYTHON as error:
        raise UserError(f"the file is not Python: {error}") from error


class _Flow(NamedTuple):
    """The reason why a block of statements ended early."""

    kind: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class _TextFile:
    """The result of `open`: a file next to the configuration."""

    text: str


@dataclass(frozen=True, slots=True)
class _Function:
    """A function that the configuration defines, and the variables that it can access."""

    node: ast.FunctionDef
    names: Names

    def __str__(self) -> str:
        return self.node.name


class Interpreter:
    """Evaluates a configuration and the files that it imports: plain data and a few functions.

    Everything else becomes a symbol. `unread` are the sources of symbols; `missing` the modules whose files
    were not found, each with its first import; `absent` the imported names that their modules do not set,
    each with those that they set; `doubted` the lists and mappings, by id, that unevaluated code may have
    changed; `lost` the keys that are read of mappings without them, each with the keys of its mapping.
    """

    def __init__(self, files: Files | None = None) -> None:
        self.unread: Final[dict[str, None]] = {}
        self.missing: Final[dict[str, ast.ImportFrom]] = {}
        self.absent: Final[dict[ast.alias, tuple[str, ...]]] = {}
        self.doubted: Final[dict[int, Any]] = {}
        self.lost: Final[dict[ast.Subscript, tuple[str, tuple[str, ...]]]] = {}
        self._files: Final[Files] = files or NoFiles()
        self._read: Final[dict[str, Names]] = {}
        self._packages: Final[set[str]] = set()
        self._steps = 0
        self._depth = 0
        self._is_base = False

    def read(self, tree: ast.Module) -> Names:
        """Return the variables that the configuration sets.

        Raises UserError if it is nested too deeply or needs too many steps.
        """
        try:
            return self._file(tree, _THIS_FOLDER)
        except RecursionError as error:
            raise UserError("the configuration's expressions are nested too deeply") from error

    def has_package(self, module: str) -> bool:
        """Return whether the package of a module, or a part of it, is found."""
        package = module.partition(".")[0]
        return package in self._packages or self._files.module(package) is not None

    def _file(self, tree: ast.Module, folder: str) -> Names:
        names: Names = {"__file__": posixpath.join(folder, "config.py")}
        outer, self._is_base = self._is_base, False
        self._run(tree.body, names, folder)
        self._is_base = outer
        return names

    # Statements

    def _run(self, body: list[ast.stmt], names: Names, folder: str) -> _Flow | None:
        for statement in body:
            flow = self._statement(statement, names, folder)
            if flow is not None:
                return flow
        return None

    def _statement(self, statement: ast.stmt, names: Names, folder: str) -> _Flow | None:  # noqa: C901, PLR0912 - one case for each kind of statement
        match statement:
            case ast.For(target=target, iter=node, body=body):
                return self._loop(target, self._value(node, names), body, names, folder)
            case ast.If(test=test, body=body, orelse=other):
                chosen = self._value(test, names)
                if is_known(chosen):
                    return self._run(body if chosen else other, names, folder)
                self._skip(statement, names)
            case ast.With(items=items, body=body):
                return self._with(items, body, names, folder)
            case ast.Try(body=body):
                known, lost = set(self.missing), set(self.lost)
                flow = self._run(body, names, folder)
                for module in self.missing.keys() - known:  # handled by `except`
                    del self.missing[module]
                for place in self.lost.keys() - lost:
                    del self.lost[place]
                return flow
            case ast.Continue() | ast.Break():
                return _Flow(type(statement).__name__)
            case ast.Return(value=node):
                return _Flow("Return", None if node is None else self._value(node, names))
            case ast.Assign(targets=targets, value=node):
                made = self._value(node, names)
                for target in targets:
                    self._bind(target, made, names)
            case ast.AnnAssign(target=target, value=ast.expr() as node):
                self._bind(target, self._value(node, names), names)
            case ast.AugAssign(target=target, op=op, value=node):
                made = self._value(ast.copy_location(ast.BinOp(target, op, node), node), names)
                self._bind(target, made, names)
            case ast.FunctionDef(name=name):
                names[name] = _Function(statement, names)
            case ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                names[name] = PythonSymbol(name)
            case ast.ImportFrom():
                self._import(statement, names, folder)
            case ast.Expr(value=node):
                self._value(node, names)
            case _:
                self._skip(statement, names)
        return None

    def _with(
        self, items: list[ast.withitem], body: list[ast.stmt], names: Names, folder: str
    ) -> _Flow | None:
        outer = self._is_base
        for item in items:
            call = item.context_expr
            if isinstance(call, ast.Call) and last_name(call.func) == "read_base":
                self._is_base = True
            elif item.optional_vars is not None:
                self._bind(item.optional_vars, self._value(call, names), names)
        flow = self._run(body, names, folder)
        self._is_base = outer
        return flow

    def _loop(
        self, target: ast.expr, items: Any, body: list[ast.stmt], names: Names, folder: str
    ) -> _Flow | None:
        if not isinstance(items, list | tuple | dict | str | set):
            # The items are unknown: the body is evaluated once.
            items = [PythonSymbol(each.id) for each in ast.walk(target) if isinstance(each, ast.Name)][:1]
        for item in list(items):
            self._bind(target, item, names)
            flow = self._run(body, names, folder)
            if flow is not None and flow.kind != "Continue":
                return flow if flow.kind == "Return" else None
        return None

    def _skip(self, statement: ast.stmt, names: Names) -> None:
        """Set the variables of an unevaluated statement to symbols, and mark the values it may change."""
        lost = set(self.lost)
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    names[name] = PythonSymbol(name)
                case ast.Subscript(value=changed, ctx=ast.Store() | ast.Del()):
                    self._doubt(self._value(changed, names))
                case ast.Call(func=called, args=arguments):
                    changed_by = [called.value] if isinstance(called, ast.Attribute) else arguments
                    for each in changed_by:
                        self._doubt(self._value(each, names))
        for place in self.lost.keys() - lost:
            del self.lost[place]

    def _doubt(self, value: Any) -> None:
        """Record that unevaluated code may change the value and its items."""
        # As long as there is a reference to the values, their ids are not reused.
        self.doubted.update((id(each), each) for each in containers_in(value))

    def _import(self, statement: ast.ImportFrom, names: Names, folder: str) -> None:
        module = "." * statement.level + (statement.module or "")
        if not statement.level and not self._is_base:
            names.update(
                {alias.asname: PythonSymbol(alias.name) for alias in statement.names if alias.asname}
            )
            return
        path = self._path_of(statement, folder)
        imported = self._imported(path) if path else None
        if imported is None:
            if self._is_base and (path is None or self._files.is_missing(path)):
                self.missing.setdefault(module, statement)
            imported = {}
        for alias in statement.names:
            if alias.name == "*":
                names.update({name: item for name, item in imported.items() if not name.startswith("_")})
            elif alias.name in imported:
                names[alias.asname or alias.name] = imported[alias.name]
            elif imported:
                self.absent[alias] = tuple(imported)

    def _path_of(self, statement: ast.ImportFrom, folder: str) -> str | None:
        """Return the path of the file that an import names; None if it is not found."""
        module = statement.module or ""
        if not statement.level:
            path = self._files.module(module)
            if path is not None:
                self._packages.add(module.partition(".")[0])
            return path
        base = posixpath.join(folder, *[".."] * (statement.level - 1), *module.split("."))
        inside = posixpath.normpath(base)
        package = posixpath.join(inside, "__init__.py")
        return package if not module or self._files.text(package) is not None else f"{inside}.py"

    def _imported(self, path: str) -> Names | None:
        """Return the variables of the file at `path`; None if it cannot be read."""
        if path not in self._read:
            text = self._files.text(path) if len(self._read) <= _MAX_FILES else None
            if text is None:
                return None
            # A circular import returns no variables.
            self._read[path] = {}
            self._read[path] = self._file(parse_configuration(text), posixpath.dirname(path) or _THIS_FOLDER)
        return self._read[path]

    def _call_function(self, function: _Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Return the result of a function of the configuration.

        If it has parameters other than plain ones, the result is a symbol.
        """
        taken = function.node.args
        if taken.vararg or taken.kwarg or taken.kwonlyargs or self._depth >= _MAX_CALL_DEPTH:
            self._doubt((arguments, keywords))
            return PythonSymbol(f"{function}()")
        own = {**function.names, _GLOBALS: function.names.get(_GLOBALS, function.names)}
        for parameter, default in parameters(function.node):
            if default is not None:
                own[parameter.arg] = self._value(default, function.names)
        own.update(zip(parameter_names(function.node), arguments, strict=False))
        own.update(keywords)
        self._depth += 1
        try:
            flow = self._run(function.node.body, own, _THIS_FOLDER)
        finally:
            self._depth -= 1
        return flow.value if flow is not None and flow.kind == "Return" else None

    def _bind(self, target: ast.expr, value: Any, names: Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if isinstance(value, list | tuple) and len(value) == len(targets):
                    for each, item in zip(targets, value, strict=True):
                        self._bind(each, item, names)
            case ast.Subscript(value=inner, slice=index):
                holder, key = self._value(inner, names), self._value(index, names)
                if isinstance(holder, dict) or (isinstance(holder, list) and isinstance(key, int)):
                    try:
                        holder[key] = value
                    except STRAY:
                        self._symbol(target)
            case ast.Attribute(value=inner, attr=name) if isinstance(self._value(inner, names), dict):
                self._value(inner, names)[name] = value
            case _:
                self._symbol(target)

    # Expressions

    def _value(self, node: ast.expr, names: Names) -> Any:
        """Return the value of `node`, or a symbol; raises UserError if it takes too many steps."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise UserError("the configuration computes too much", remedy="write its data out")
        try:
            made = self._evaluate(node, names)
        except STRAY:
            return self._symbol(node)
        return self._symbol(node) if is_huge(made) else made

    def _evaluate(self, node: ast.expr, names: Names) -> Any:  # noqa: C901, PLR0912 - one case for each kind of node
        match node:
            case ast.Constant(value=value):
                return place_text(value, node) if isinstance(value, str) else value
            case ast.Name(id=name):
                return names.get(name, PythonSymbol(name))
            case ast.Attribute(value=inner, attr=name):
                holder = self._value(inner, names)
                # MMEngine's mappings provide their keys as attributes.
                return holder[name] if isinstance(holder, dict) else PythonSymbol(f"{holder}.{name}")
            case ast.Dict():
                return self._mapping(node, names)
            case ast.List(elts=items):
                return list(self._items(items, names))
            case ast.Tuple(elts=items):
                return tuple(self._items(items, names))
            case ast.Set(elts=items):
                return set(self._items(items, names))
            case ast.JoinedStr(values=pieces):
                return join_texts([self._piece(piece, names) for piece in pieces])
            case ast.Call():
                return self._call(node, names)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._operation(node, type(op), self._value(left, names), self._value(right, names))
            case ast.Subscript(value=inner, slice=index):
                return self._item(node, self._value(inner, names), index, names)
            case ast.IfExp(test=test, body=body, orelse=other):
                chosen = self._value(test, names)
                if is_known(chosen):
                    return self._value(body if chosen else other, names)
            case ast.ListComp(elt=item, generators=loops) | ast.GeneratorExp(elt=item, generators=loops):
                return [self._value(item, scope) for scope in self._scopes(loops, names)]
            case ast.SetComp(elt=item, generators=loops):
                return {self._value(item, scope) for scope in self._scopes(loops, names)}
            case ast.DictComp(key=key, value=item, generators=loops):
                scopes = self._scopes(loops, names)
                return {self._value(key, scope): self._value(item, scope) for scope in scopes}
            case ast.UnaryOp(op=ast.Not(), operand=inner) if is_known(value := self._value(inner, names)):
                return not value
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._value(inner, names)
            case ast.BoolOp():
                return self._bool(node, names)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                first, second = self._value(left, names), self._value(right, names)
                if can_compare(type(op), first, second):
                    return COMPARISONS[type(op)](first, second)
        return self._symbol(node)

    def _symbol(self, node: ast.expr) -> PythonSymbol:
        source = " ".join(ast.unparse(node).split())
        self.unread[source] = None
        return PythonSymbol(source)

    def _items(self, items: list[ast.expr], names: Names) -> Iterator[Any]:
        for item in items:
            if isinstance(item, ast.Starred):
                yield from self._value(item.value, names)
            else:
                yield self._value(item, names)

    def _mapping(self, node: ast.Dict, names: Names) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                made.update(self._value(item, names))
            else:
                made[self._value(key, names)] = self._value(item, names)
        return made

    def _piece(self, piece: ast.expr, names: Names) -> Any:
        if not isinstance(piece, ast.FormattedValue):
            return self._value(piece, names)
        value = self._value(piece.value, names)
        spec = str(self._value(piece.format_spec, names)) if piece.format_spec else ""
        if not is_known(value):
            return value if isinstance(value, PythonSymbol) else PythonSymbol(str(value))
        if piece.conversion == ord("r"):
            value = repr(value)
        if isinstance(value, str) and not spec:
            return value
        return format(value, spec if FORMAT_SPEC.fullmatch(spec) else "")

    def _call(self, node: ast.Call, names: Names) -> Any:
        called = node.func
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value, names)
            keywords.update(value if keyword.arg is None else {place_text(keyword.arg, keyword): value})
        if isinstance(called, ast.Name) and called.id == "dict":
            made: dict[Any, Any] = dict(self._value(node.args[0], names)) if node.args else {}
            return {**made, **keywords}
        arguments = list(self._items(node.args, names))
        if isinstance(called, ast.Attribute):
            holder = self._value(called.value, names)
            kind = str if isinstance(holder, str | MixedText) else type(holder)
            if called.attr in METHODS.get(kind, ()):
                return self._method(node, holder, called.attr, arguments, keywords)
            if isinstance(holder, _TextFile) and called.attr == "read":
                return holder.text
        name = str(self._value(called, names))
        if name in {"locals", "globals"}:
            return dict(names) if name == "locals" else names.get(_GLOBALS, names)
        if name == "eval" and len(arguments) == 1 and str(arguments[0]).isidentifier():
            return self._value(ast.Name(str(arguments[0])), names)
        if name == "open" and arguments and isinstance(arguments[0], str):
            text = self._files.text(arguments[0])
            return self._symbol(node) if text is None else _TextFile(text)
        if isinstance(called, ast.Name) and isinstance(names.get(name), _Function):
            return self._call_function(names[name], arguments, keywords)
        function = FUNCTIONS.get(name)
        if function is None or not (is_known(arguments) or name in HOLDING):
            self._doubt((arguments, keywords))
            return self._symbol(node)
        if name == "range" and (len(arguments) == 0 or len(range(*arguments)) > MAX_ITEMS):
            return self._symbol(node)
        return function(*arguments, **keywords)

    def _method(
        self, node: ast.Call, holder: Any, name: str, arguments: list[Any], keywords: Mapping[str, Any]
    ) -> Any:
        if isinstance(holder, str | MixedText):
            return self._text_method(node, holder, name, arguments, keywords)
        if name == "deepcopy":
            return deepcopy(holder)
        made = getattr(holder, name)(*arguments, **keywords)
        return list(made) if name in {"keys", "values", "items"} else made

    def _text_method(
        self, node: ast.Call, text: Any, name: str, arguments: list[Any], keywords: Mapping[str, Any]
    ) -> Any:
        """Return the result of a text method; if an operand is a symbol, the result is a symbol with text."""
        is_exact = is_known((text, arguments, dict(keywords)))
        if not is_exact:
            arguments = [str(each) if isinstance(each, PythonSymbol) else each for each in arguments]
            keywords = {key: str(each) for key, each in keywords.items()}
        plain = str(text) if isinstance(text, MixedText) else text
        if not is_harmless(plain, name, [*arguments, *keywords.values()]):
            return self._symbol(node)
        made = getattr(plain, name)(*arguments, **keywords)
        if not is_exact:
            is_text = isinstance(made, str)
            return MixedText.of([TextPiece(made, is_symbol=True)]) if is_text else self._symbol(node)
        return cut_text(plain, made) if name in CUTTING else made

    def _operation(self, node: ast.expr, op: type[ast.operator], left: Any, right: Any) -> Any:
        if op is ast.Add and isinstance(left, list | tuple) and type(left) is type(right):
            return operator.add(left, right)
        if op is ast.Add and isinstance(left, str | PythonSymbol) and isinstance(right, str | PythonSymbol):
            is_text = any(isinstance(each, str | MixedText) for each in (left, right))
            return join_texts((left, right)) if is_text else self._symbol(node)
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
                None if each is None else self._value(each, names)
                for each in (index.lower, index.upper, index.step)
            ]
            return holder[slice(*bounds)] if not isinstance(holder, dict) else self._symbol(node)
        key = self._value(index, names)
        if isinstance(node, ast.Subscript) and isinstance(holder, dict) and isinstance(key, str):
            is_whole = all(isinstance(each, str) for each in holder) and "__file__" not in holder
            if holder and is_whole and key not in holder and id(holder) not in self.doubted:
                self.lost[node] = (str(key), tuple(map(str, holder)))
        return holder[key]

    def _bool(self, node: ast.BoolOp, names: Names) -> Any:
        chosen: Any = None
        for each in node.values:
            chosen = self._value(each, names)
            if not is_known(chosen):
                return self._symbol(node)
            if bool(chosen) is isinstance(node.op, ast.Or):
                break
        return chosen

    def _scopes(self, loops: list[ast.comprehension], names: Names) -> Iterator[Names]:
        if not loops:
            yield names
            return
        loop, *rest = loops
        for item in self._value(loop.iter, names):
            scope = dict(names)
            self._bind(loop.target, item, scope)
            tests = [self._value(test, scope) for test in loop.ifs]
            if all(isinstance(test, PythonSymbol) or test for test in tests):
                yield from self._scopes(rest, scope)


def containers_in(value: Any) -> Iterator[Any]:
    """Yield the mappings and lists in a value, including the value itself."""
    pending, seen = [value], set[int]()
    while pending and len(seen) < MAX_ITEMS:
        each = pending.pop()
        if not isinstance(each, dict | list | tuple) or id(each) in seen:
            continue
        seen.add(id(each))
        pending += each.values() if isinstance(each, dict) else each
        if not isinstance(each, tuple):
            yield each
