"""Diagnostics for coroutines that a program uses like what they return, and for `await` where none can be."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import SCORES
from promptls.programs.program import Program
from promptls.programs.ragas_prompts import prompt_class
from promptls.syntax.python_places import Function, last_name
from promptls.text.positions import Span
from promptls.workspace.python_data import is_record
from promptls.workspace.python_scopes import Scope, is_generator, own_nodes, returned_values

_METHODS: Final = frozenset({"ascore", "single_turn_ascore", "multi_turn_ascore"})
"""Methods of Ragas that return coroutines, and whose names no other library uses."""
_NO_WAITING: Final = frozenset(
    {"abs", "bool", "enumerate", "float", "int", "isinstance", "len", "list", "max", "mean", "min", "print"}
    | {"round", "sorted", "str", "sum"}
)
"""Functions that await nothing."""
_OF_COROUTINES: Final = frozenset({"close", "send", "throw"})
_MAX_STEPS: Final = 5


class _Coroutine(NamedTuple):
    """A call that returns a coroutine, and what is called, as a message names it."""

    call: ast.Call
    called: str


def findings_in_coroutines(program: Program, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield coroutines that nothing awaits, or that are used like their results."""
    coroutines = _Coroutines(program, experiments)
    for function in program.functions:
        if isinstance(function, ast.FunctionDef):
            yield from _outside(program, function)
    for call in program.calls:
        yield from _uncalled(program, call)
    for scope in program.scopes:
        yield from coroutines.unawaited(scope)


def _uncalled(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield a function that `asyncio.run` is given in place of its coroutine, and a list for `gather`."""
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio"), attr="gather"),
            args=[ast.List() | ast.ListComp() as given],
        ):
            fix = Fix.insert(program.span(given).start, "*")
            yield Finding(program.span(given), "`gather` takes coroutines, and no list of them", (fix,))
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run"), args=[ast.Name(id=name) as node]
        ):
            if isinstance(program.function(node), ast.AsyncFunctionDef):
                span = program.span(node)
                message = f"`{name}` is a function, and `asyncio.run` takes its coroutine"
                yield Finding(span, message, (Fix.insert(span.end, "()"),))


def _outside(program: Program, function: ast.FunctionDef) -> Iterator[Finding]:
    """Yield the first `await` in a function that is not `async`."""
    first = next((node for node in own_nodes(function) if isinstance(node, ast.Await)), None)
    if first is not None:
        start = program.span(first).start
        message = f"`await` is only possible in an `async` function, which `{function.name}` is not"
        at = program.span(function).start
        is_plain = program.text[at : at + len("def ")] == "def "
        fixes = (Fix.insert(at, "async ", preferred=False),) if is_plain else ()
        yield Finding(Span(start, start + len("await")), message, fixes)


@dataclass(frozen=True)
class _Coroutines:
    """A program and its experiments, and which of its calls return coroutines."""

    program: Program
    experiments: Mapping[str, Function]

    def _function(self, node: ast.expr | None) -> Function | None:
        """Return the function at the top level without decorators that an expression names."""
        made = self.program.function(node)
        if made is None or made.decorator_list:
            return None
        return None if is_generator(made) else made

    @cached_property
    def _classes(self) -> frozenset[str]:
        """The names of the models of pydantic, and of dataclasses, at the top level."""
        return frozenset(each.name for each in self.program.classes if is_record(each))

    def _made(self, node: ast.expr | None, steps: int = 0) -> _Coroutine | None:
        """Return the call that makes the coroutine which an expression is, if it is one."""
        if steps > _MAX_STEPS:
            return None
        if isinstance(node, ast.Await):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            inner = self._function(called)
            return self._returned(inner, steps + 1) if isinstance(inner, ast.AsyncFunctionDef) else None
        match node:
            case ast.Call(func=ast.Name() as called) if (function := self._function(called)) is not None:
                is_made = isinstance(function, ast.AsyncFunctionDef) or self._returned(function, steps + 1)
                return _Coroutine(node, called.id) if is_made else None
            case ast.Call(func=function) if self.program.meaning(function) == ("ragas", "aevaluate"):
                return _Coroutine(node, "aevaluate")
            case ast.Call(func=ast.Attribute(value=owner, attr=method) as function):
                is_of_ragas = method in _METHODS or bool(prompt_class(self.program, node))
                is_run = method == "arun" and isinstance(owner, ast.Name) and owner.id in self.experiments
                if is_run or is_of_ragas:
                    return _Coroutine(node, ast.unparse(function))
        return None

    def _returned(self, function: Function, steps: int) -> _Coroutine | None:
        """Return the call of the coroutine that a function returns in its only `return`."""
        values = returned_values(function)
        return self._made(self.program.resolved(values[0]) if len(values) == 1 else None, steps)

    def unawaited(self, scope: Scope) -> Iterator[Finding]:
        """Yield the coroutines of a scope that are dropped, or used like their results."""
        used: list[_Coroutine | None] = []
        for name, values in scope.values.items():
            made = self._made(values[0]) if len(values) == 1 else None
            if made is not None and not any(self._may_await(node, name) for node in ast.walk(scope.node)):
                read = [each for node in ast.walk(scope.node) for each in self._used(node)]
                used += [made] if any(_is_name(each, name) for each in read) else []
        for node in own_nodes(scope.node):
            dropped = self._made(node.value) if isinstance(node, ast.Expr) else None
            if dropped is not None:
                yield self._finding(dropped, "runs nothing")
            used += map(self._made, self._used(node))
        found = {id(each.call): each for each in used if each is not None}
        for each in found.values():
            yield self._finding(each, "returns a coroutine, and not its result")

    def _finding(self, made: _Coroutine, effect: str) -> Finding:
        functions = (each for each in self.program.functions if isinstance(each, ast.AsyncFunctionDef))
        is_async = any(made.call in own_nodes(each) for each in functions)
        span = self.program.span(made.call)
        parts = (each for each in self.program.nodes if isinstance(each, ast.Attribute | ast.Subscript))
        is_part_read = any(each.value is made.call for each in parts)
        brackets = (Edit.insert(span.start, "(await "), Edit.insert(span.end, ")"))
        edits = brackets if is_part_read else (Edit.insert(span.start, "await "),)
        fix = Fix("Insert `await`", edits, preferred=True)
        message = f"without `await`, `{made.called}` {effect}"
        return Finding(self.program.span(made.call.func), message, (fix,) if is_async else ())

    def _may_await(self, node: ast.AST, name: str) -> bool:
        """Return whether a variable is awaited, returned, or passed to what may await it."""
        match node:
            case ast.Await(value=ast.Name(id=other)) | ast.Return(value=ast.Name(id=other)):
                return other == name
            case ast.Call():
                return any(_is_name(each, name) for each in _given(node)) and not self._awaits_nothing(node)
        return False

    def _awaits_nothing(self, call: ast.Call) -> bool:
        """Return whether a call takes results, and no coroutines, as `run` of Ragas does."""
        is_class = self.program.library_name(call.func)[:1].isupper()
        return is_class or last_name(call.func) in {*_NO_WAITING, *SCORES, *self._classes}

    def _used(self, node: ast.AST) -> list[ast.expr]:
        """Return the expressions that a node reads like results, or passes on as results."""
        match node:
            case (
                ast.For(iter=value)
                | ast.comprehension(iter=value)
                | ast.Subscript(value=value)
                | ast.FormattedValue(value=value)
                | ast.Compare(left=value)
                | ast.BinOp(left=value)
            ):
                return [value]
            case ast.Attribute(value=value, attr=attribute):
                return [] if attribute in _OF_COROUTINES else [value]
            case ast.Call() if self._awaits_nothing(node):
                return _given(node)
        return []


def _given(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call."""
    return [*call.args, *(each.value for each in call.keywords)]


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
