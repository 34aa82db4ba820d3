"""Uses of promptls's own objects: attributes that their classes do not have, and calls that they do not take.

The classes are those of this installation. Their annotations say what a method or an attribute gives, as
they say it to a type checker.
"""

from __future__ import annotations

import ast
import dis
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, Final, TypeAlias

import typing_extensions

from promptls.lint.rule import Finding
from promptls.lint.rules.experiments.models_and_metrics import model_problem
from promptls.programs.program import Program, is_open, name_finding, unknown_arguments
from promptls.settings.project import Project
from promptls.syntax.python_places import Function, argument, text_of
from promptls.text.format import in_code
from promptls.text.suggest import nearest

Hint: TypeAlias = Any
"""The annotation of a value, evaluated; None if it is not known."""

_PACKAGE: Final = "promptls"
_MODULES: Final = ("promptls", "promptls.metrics")
_SELF: Final = (typing_extensions.Self, getattr(typing, "Self", None))
_RUNS: Final = frozenset({"arun", "run"})
_MAX_STEPS: Final = 8
_CHECKED: Final = "promptls.api."
"""The modules whose methods' arguments are checked here; other checks know those of datasets and metrics."""
_KNOWN_ELSEWHERE: Final = frozenset({"Dataset", "MetricResult"})
"""The classes whose attributes other checks know, as Ragas has the same classes."""


def findings_in_own_objects(
    program: Program, experiments: Mapping[str, Function], project: Project
) -> Iterator[Finding]:
    """Yield the attributes, calls and arguments that objects of promptls do not have."""
    imported = {
        own: name
        for module in _MODULES
        for own, name in program.imported_from(module).items()
        if name != "Prompt"
    }  # `Prompt` is a prompt object or a prompt of Prompt Poet, as its arguments say
    if not imported and _PACKAGE not in program.imports.modules.values():
        return
    types = _Types(program, experiments, imported)
    for node in program.nodes:
        if isinstance(node, ast.Attribute) and node.attr not in program.stored_attributes:
            yield from _attribute(types, node)
        elif isinstance(node, ast.Call):
            yield from _call(types, node)
            yield from _unknown_model(types, node, project)


@dataclass(frozen=True)
class _Types:
    """The types of the expressions in a program that are classes of promptls."""

    program: Program
    experiments: Mapping[str, Function]
    imported: Mapping[str, str]
    """The names in promptls of what the program imports, by its own names."""

    def of(self, node: ast.expr | None, steps: int = _MAX_STEPS) -> Hint:
        """Return the type of an expression, or None."""
        if steps == 0:
            return None
        match node:
            case ast.Name():
                return self.of(self.program.resolved(node), steps - 1)
            case ast.Await(value=ast.Call() as call):
                return self._result(call, steps - 1, is_awaited=True)
            case ast.Call():
                return self._result(node, steps - 1, is_awaited=False)
            case ast.Attribute(value=owner, attr=name) if kind := own_class(self.of(owner, steps - 1)):
                return value_type(kind, name)
            case ast.Subscript(value=items, slice=ast.Constant(value=int())):
                return _element_type(self.of(items, steps - 1))
        return None

    def _result(self, call: ast.Call, steps: int, *, is_awaited: bool) -> Hint:
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.experiments:
                is_run = attr in _RUNS and is_awaited == (attr == "arun")
                return import_module("promptls").ExperimentResults if is_run else None
        called, owner = self.called(call.func, steps)
        if inspect.isclass(called):
            return None if is_awaited else called
        if called is None or inspect.iscoroutinefunction(called) != is_awaited:
            return None
        found = _hints(called).get("return")
        return owner if found in _SELF else found

    def called(self, node: ast.expr, steps: int = _MAX_STEPS) -> tuple[Any, type | None]:
        """Return the class, function or method of promptls that is called, and the class of a method."""
        if (named := self._named(node)) is not None:
            return named, None
        if not isinstance(node, ast.Attribute):
            return None, None
        owner = own_class(self._named(node.value) or self.of(node.value, steps))
        method = getattr(owner, node.attr, None) if owner else None
        return (method, owner) if inspect.isroutine(method) else (None, None)

    def _named(self, node: ast.expr) -> Any:
        """Return the class or function that a name, or an attribute of the package, refers to, or None."""
        match node:
            case ast.Name(id=name) if name in self.imported:
                found = self.imported[name]
            case ast.Attribute(value=ast.Name(id=name), attr=found) if (
                self.program.imports.modules.get(name) == _PACKAGE
            ):
                pass
            case _:
                return None
        values = (getattr(import_module(module), found, None) for module in _MODULES)
        return next((each for each in values if each is not None), None)


def _attribute(types: _Types, node: ast.Attribute) -> Iterator[Finding]:
    kind = own_class(types.of(node.value))
    if kind is None or node.attr in attributes_of(kind) or kind.__name__ in _KNOWN_ELSEWHERE:
        return
    meant = nearest(node.attr, (each for each in attributes_of(kind) if not each.startswith("_")))
    message = f"`{kind.__name__}` has no attribute `{node.attr}`"
    if meant is None:
        message += f"; it has {in_code(sorted(each for each in _declared(kind) if each[0] != '_'))}"
    yield Finding.suggest(types.program.places.attribute_span(node), message, meant)


def _call(types: _Types, call: ast.Call) -> Iterator[Finding]:
    hint = types.of(call.func)
    kind = own_class(hint)
    span = types.program.span(call.func)
    if kind is not None and not any("__call__" in vars(each) for each in kind.__mro__):
        methods = [f"{name}()" for name in ("render", "score", "to_pandas") if hasattr(kind, name)]
        remedy = f"; `{ast.unparse(call.func)}.{methods[0]}` is a method" if methods else ""
        yield Finding(span, f"a `{kind.__name__}` is not a function{remedy}")
        return
    if hint is str or _is_sequence(hint):
        fixes = () if call.args or call.keywords else (types.program.without_call(call),)
        yield Finding(span, f"`{ast.unparse(call.func)}` is not a method", fixes)
        return
    method, owner = types.called(call.func)
    is_checked = owner.__module__.startswith(_CHECKED) if owner is not None else inspect.isfunction(method)
    if is_checked and not is_open(call):
        yield from _arguments(types.program, call, method, owner)


def _unknown_model(types: _Types, call: ast.Call, project: Project) -> Iterator[Finding]:
    """Yield the name of a model for `llm` that no provider and no setting has."""
    node = argument(call, "llm")
    name = text_of(node) if node is not None else None
    if node is None or name is None or types.called(call.func) == (None, None):
        return
    problem = model_problem(name, project)
    if problem is not None:
        yield name_finding(types.program, node, problem)


def _arguments(
    program: Program, call: ast.Call, method: Callable[..., Any], owner: type | None
) -> Iterator[Finding]:
    """Yield the arguments that a function or method does not take, or those that it needs."""
    parameters = list(inspect.signature(method).parameters.values())
    if owner is not None and inspect.isfunction(method):
        parameters = parameters[1:]  # without `self`
    name = method.__name__ if owner is None else f"{owner.__name__}.{method.__name__}"
    known = [each.name for each in parameters if each.kind is not inspect.Parameter.POSITIONAL_ONLY]
    if all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in parameters):
        unknown = [*unknown_arguments(program, call, f"`{name}` has no argument `{{}}`", known)]
        yield from unknown
        if unknown:
            return
    needed = [
        each.name
        for each in parameters[len(call.args) :]
        if each.default is inspect.Parameter.empty
        and each.kind in {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    ]
    missing = [each for each in needed if each not in {keyword.arg for keyword in call.keywords}]
    if missing:
        yield Finding(program.span(call.func), f"`{name}` needs {in_code(missing)}")


def own_class(hint: Hint) -> type | None:
    """Return the class of promptls that a type is, unless its attributes are not known in advance."""
    if not inspect.isclass(hint) or not hint.__module__.startswith(f"{_PACKAGE}."):
        return None
    return None if hasattr(hint, "__getattr__") else hint


@lru_cache(maxsize=64)
def attributes_of(kind: type) -> frozenset[str]:
    """Return the names of all attributes that objects of a class and its subclasses may have."""
    import_module("promptls.api.evaluation")  # has subclasses of what `load` and `render` return
    found = set[str]()
    classes: tuple[type, ...] = (*kind.__mro__, *_subclasses(kind))
    for each in classes:
        found |= _declared(each)
        for function in vars(each).values():
            if inspect.isfunction(function):
                steps = dis.get_instructions(function)
                found |= {step.argval for step in steps if step.opname == "STORE_ATTR"}
    return frozenset(found)


def _subclasses(kind: type) -> Iterator[type]:
    below: type
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _declared(kind: type) -> set[str]:
    """Return the attributes that a class and its base classes define or annotate."""
    return {*dir(kind)}.union(*(getattr(each, "__annotations__", ()) for each in kind.__mro__))


@lru_cache(maxsize=256)
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the evaluated annotations of a function or class; empty if they cannot be evaluated."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}


def value_type(kind: type, name: str) -> Hint:
    """Return the type of an attribute: of a property, or as the class annotates it."""
    found = inspect.getattr_static(kind, name, None)
    getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
    if isinstance(found, property | cached_property) and getter is not None:
        return _hints(getter).get("return")
    return _hints(kind).get(name)


def _element_type(hint: Hint) -> Hint:
    """Return the type of the elements of a list, or of a tuple of any length."""
    arguments = typing.get_args(hint)
    is_uniform = _is_sequence(hint) and len(arguments) == 1 + (arguments[-1] is ...)
    return arguments[0] if is_uniform else None


def _is_sequence(hint: Hint) -> bool:
    origin: object = typing.get_origin(hint)
    return origin in (list, tuple)
