"""A Python program that uses promptls, Ragas or Prompt Poet, and readers of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from promptls.lint.analysis.declared_experiments import NameProblem
from promptls.lint.rule import Edit, Finding, Fix, Severity
from promptls.syntax.python_places import Function, PythonPlaces, parse_python, text_of
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.disk import text_on_disk
from promptls.workspace.python_scopes import LIBRARIES, Imports, Scope, imports_of, own_nodes, scopes_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.comprehension
Found = TypeVar("Found")
Node = TypeVar("Node", bound=ast.AST)
COLLECTIONS: Final = "ragas.metrics.collections"
"""The module of the metrics of Ragas whose results are objects."""
_MAX_FOLDERS: Final = 4


def may_use_library(text: str) -> bool:
    """Return whether a Python text mentions promptls, Ragas or Prompt Poet."""
    return any(package in text for package in LIBRARIES)


@dataclass(frozen=True)
class SyntaxTree:
    """The syntax tree of a Python text, and the positions in it."""

    module: ast.Module
    places: PythonPlaces

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes, those of outer expressions first."""
        return tuple(ast.walk(self.module))

    def all_of(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of a kind."""
        return [node for node in self.nodes if isinstance(node, kind)]

    @cached_property
    def imported(self) -> dict[str, tuple[str, ast.alias]]:
        """The modules that names are imported from, with the names there."""
        return {
            alias.asname or alias.name: (node.module or "", alias)
            for node in self.all_of(ast.ImportFrom)
            if not node.level
            for alias in node.names
        }

    @property
    def text(self) -> str:
        """The source text."""
        return self.places.text

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> Span:
        """Return the span of an expression or statement, or of the name of an argument or an import."""
        return self.places.span(node)

    def without_call(self, call: ast.Call) -> Fix:
        """Return the fix that removes the parentheses of a call."""
        edit = Edit(Span(self.span(call.func).end, self.span(call).end), "")
        return Fix("Remove the parentheses", (edit,), preferred=True)


@dataclass(frozen=True)
class Program(SyntaxTree):
    """A parsed program, and what it imports from the libraries."""

    path: Path
    imports: Imports

    @property
    def folders(self) -> list[Path]:
        """The folders around the program that are searched for a prompt file, the nearest first."""
        return [*self.path.parents][:_MAX_FOLDERS]

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes of the module and its functions; that of the module is first."""
        return tuple(each for each in scopes_of(self.module) if isinstance(each.node, ast.Module | Function))

    @cached_property
    def _scopes_of_nodes(self) -> Mapping[ast.AST, Scope]:
        """The innermost scope around each expression."""
        scopes = {scope.node: scope for scope in scopes_of(self.module)}
        found: dict[ast.AST, Scope] = {}
        waiting: list[tuple[ast.AST, Scope]] = [(self.module, self.scopes[0])]
        while waiting:
            node, around = waiting.pop()
            found[node] = scope = scopes.get(node, around)
            waiting += [(each, scope) for each in ast.iter_child_nodes(node)]
        return found

    @cached_property
    def assigned(self) -> Mapping[str, Sequence[ast.expr | None]]:
        """What each name is assigned anywhere; None for a parameter, a loop, a function and the like."""
        found: dict[str, list[ast.expr | None]] = {}
        for scope in scopes_of(self.module):
            for name, values in scope.values.items() if not isinstance(scope.node, ast.ClassDef) else ():
                found.setdefault(name, []).extend(values)
        return found

    @cached_property
    def top_functions(self) -> Mapping[str, Function]:
        """The functions at the top level whose names the module binds to nothing else."""
        values = self.scopes[0].values
        return {each.name: each for each in self.own_functions if values.get(each.name) == [None]}

    @cached_property
    def binders(self) -> Mapping[str, Sequence[ast.Assign | Loop]]:
        """The assignments and loops that bind each variable, or set an item of it."""
        found: dict[str, list[ast.Assign | Loop]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign | Loop):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    match target:
                        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
                            found.setdefault(name, []).append(node)
        return found

    @cached_property
    def extended(self) -> frozenset[str]:
        """The variables that have an item set, or a method called."""
        found = set()
        for node in self.nodes:
            match node:
                case (
                    ast.Subscript(value=ast.Name(id=name), ctx=ast.Store())
                    | ast.Call(func=ast.Attribute(value=ast.Name(id=name)))
                ):
                    found.add(name)
        return frozenset(found)

    @cached_property
    def appended(self) -> Mapping[str, Sequence[ast.expr]]:
        """What the program appends to each variable."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item]):
                    found.setdefault(name, []).append(item)
        return found

    @cached_property
    def stored_keys(self) -> frozenset[object]:
        """The literal keys of the items that the program sets."""
        return frozenset(
            node.slice.value
            for node in self.nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.slice, ast.Constant)
        )

    @cached_property
    def attributes(self) -> Mapping[str, frozenset[str]]:
        """The attributes of each variable that the program mentions."""
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                    found.setdefault(name, set()).add(attribute)
        return {name: frozenset(each) for name, each in found.items()}

    @cached_property
    def stored_attributes(self) -> frozenset[str]:
        """The attributes that the program sets or deletes, of any object."""
        nodes = (node for node in self.nodes if isinstance(node, ast.Attribute))
        return frozenset(node.attr for node in nodes if not isinstance(node.ctx, ast.Load))

    def meaning(self, node: ast.expr) -> tuple[str, str]:
        """Return the package and the name that an expression refers to; empty for others."""
        return self.imports.meaning(node)

    def library_name(self, node: ast.expr) -> str:
        """Return the name in its library of what an expression refers to; empty for others."""
        return self.meaning(node)[1]

    @property
    def calls(self) -> Iterator[ast.Call]:
        """The calls in the program."""
        return (node for node in self.nodes if isinstance(node, ast.Call))

    @property
    def functions(self) -> Iterator[Function]:
        """The functions in the program, methods and inner functions among them."""
        return (node for node in self.nodes if isinstance(node, Function))

    @property
    def own_functions(self) -> Iterator[Function]:
        """The functions at the top level."""
        return (node for node in self.module.body if isinstance(node, Function))

    @property
    def classes(self) -> list[ast.ClassDef]:
        """The classes at the top level."""
        return [node for node in self.module.body if isinstance(node, ast.ClassDef)]

    def assigned_calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield the variables that are bound once, at the top level, to the result of a call."""
        for node in self.module.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    if len(self.assigned[name]) == 1:
                        yield name, call

    def imported_from(self, module: str) -> dict[str, str]:
        """Return the names there of what the program imports from a module, by its own names."""
        return {own: alias.name for own, (source, alias) in self.imported.items() if source == module}

    @cached_property
    def collected(self) -> Mapping[str, str]:
        """The names there of the metrics of Ragas whose results are objects, by its own names."""
        return self.imported_from(COLLECTIONS)

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the innermost scope around an expression or statement."""
        return self._scopes_of_nodes[node]

    def values_of(self, node: ast.expr | None) -> list[ast.expr | None]:
        """Return what is assigned to the variable that an expression is, or the expression itself.

        None is another way to bind it, such as a parameter; a name that the program does not bind has no
        values.
        """
        if not isinstance(node, ast.Name):
            return [node]
        scope = self.scope_of(node).scope_of(node.id)
        return scope.values[node.id] if scope is not None else []

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """Return an expression, or the value of the variable that it is, if that is bound once."""
        values = self.values_of(node)
        return values[0] if len(values) == 1 else None

    def is_global(self, node: ast.expr) -> bool:
        """Return whether an expression is a name that the module binds once, or that nothing binds."""
        if not isinstance(node, ast.Name):
            return False
        scope = self.scope_of(node).scope_of(node.id)
        return scope is None or (scope is self.scopes[0] and len(self.values_of(node)) == 1)

    def named(self, node: ast.expr | None, known: Mapping[str, Found]) -> Found | None:
        """Return which of the `known` objects of the module an expression names."""
        return known.get(node.id) if isinstance(node, ast.Name) and self.is_global(node) else None

    def function(self, node: ast.expr | None) -> Function | None:
        """Return the function at the top level that an expression names."""
        return self.named(node, self.top_functions)


def parse_program(text: str, path: Path) -> Program | None:
    """Return the program in a file; None if the text is no Python."""
    tree = parse_python(text)
    return None if tree is None else Program(tree, PythonPlaces(text), path, imports_of(tree))


def imported_objects(program: Program, find: Callable[[Program], Mapping[str, Found]]) -> dict[str, Found]:
    """Return what `find` finds by name in the files beside a program, by the names that import it."""
    result: dict[str, Found] = {}
    for node in program.nodes:
        if not isinstance(node, ast.ImportFrom) or not node.module or node.level > 1:
            continue
        path = program.path.parent / f"{node.module.replace('.', '/')}.py"
        text = text_on_disk(str(path))
        other = parse_program(text, path) if text is not None and may_use_library(text) else None
        found = find(other) if other is not None else {}
        result |= {
            alias.asname or alias.name: found[alias.name] for alias in node.names if alias.name in found
        }
    return result


def class_values(node: ast.ClassDef) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Yield the names that a class binds in its body to values, with these."""
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name() as target, *_], value=value):
                yield target, value
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                yield target, value


def is_open(call: ast.Call) -> bool:
    """Return whether a call has arguments that are not written out: `*args` or `**kwargs`."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def literal_texts(node: ast.expr | None) -> list[str] | None:
    """Return the texts of a list of literal texts; None for other expressions."""
    if not isinstance(node, ast.List):
        return None
    found = [text for each in node.elts if (text := text_of(each)) is not None]
    return found if len(found) == len(node.elts) else None


def returns_nothing(function: Function) -> bool:
    """Return whether a function ends without a value whenever it ends; False if it has no statements yet."""
    if all(
        isinstance(each, ast.Pass) or isinstance(getattr(each, "value", None), ast.Constant)
        for each in function.body
    ):
        return False
    ends = (ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)
    return not any(isinstance(each, ends) for each in own_nodes(function))


def unknown_argument(program: Program, keyword: ast.keyword, message: str, known: Iterable[str]) -> Finding:
    """Return the finding for an argument that is not one of the `known`."""
    meant = nearest(keyword.arg or "", known)
    return Finding.suggest(program.span(keyword), message, meant, preferred=True)


def unknown_arguments(
    program: Program, call: ast.Call, message: str, known: Collection[str]
) -> Iterator[Finding]:
    """Yield the arguments of a call that are not `known`; `{}` in the message is their name."""
    given = {keyword.arg for keyword in call.keywords}
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg not in known:
            free = [each for each in known if each not in given]
            yield unknown_argument(program, keyword, message.format(keyword.arg), free)


def type_error(declared: Any, value: object) -> ErrorDetails | None:
    """Return the first reason why a value is not of the type that a field of pydantic declares."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(declared).validate_python(value)
    except ValidationError as failure:
        return failure.errors(include_url=False, include_context=False)[0]
    return None


def change_literal(program: Program, node: ast.expr, text: str, *, preferred: bool = True) -> Fix:
    """Return the fix that writes another text in place of a string literal."""
    return Fix(f"Change to `{text}`", (Edit(program.span(node), f'"{text}"'),), preferred)


def name_finding(program: Program, node: ast.expr, problem: NameProblem) -> Finding:
    """Return the finding for a problem with the name in a string literal."""
    fixes = (change_literal(program, node, problem.meant),) if problem.meant else ()
    return Finding(program.span(node), problem.text, fixes)


def suggest_literal(
    program: Program,
    node: ast.expr,
    message: str,
    meant: str | None,
    *,
    preferred: bool = True,
    severity: Severity | None = None,
) -> Finding:
    """Return the finding for a string literal that asks whether `meant` was meant, with the fix."""
    if meant is None:
        return Finding(program.span(node), message, severity=severity)
    fix = change_literal(program, node, meant, preferred=preferred)
    return Finding(program.span(node), f"{message}; did you mean `{meant}`?", (fix,), severity=severity)
