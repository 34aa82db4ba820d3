"""Diagnostics for results of metrics: coroutines without `await`, and comparisons with impossible values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.program import Function, Program, binds, change_literal, own_nodes, suggest_literal
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import nearest

Classes: TypeAlias = tuple[object, ...]
RESULT_FIELDS: Final = frozenset({"value", "reason", "traces"})
"""The attributes of the result of a metric."""


class Results(NamedTuple):
    """A program, its metrics with the values that they allow, and its experiments.

    The values of a metric are None if they are not known.
    """

    program: Program
    metrics: Mapping[str, Classes | None]
    experiments: Mapping[str, Function]


def findings_in_results(results: Results) -> Iterator[Finding]:
    """Yield scores without `await`, and comparisons of a value with one that the metric does not allow."""
    functions = [*results.program.functions]
    for function in functions:
        yield from _awaits(results, function)
        variables = _variables(results, function)
        for node in ast.walk(function) if variables else ():
            if isinstance(node, ast.Compare):
                sides = (node.left, node.comparators[0])
                yield from _compared(results, node, [_value_of(side, variables) for side in sides])
    for scope in (results.program.tree, *functions) if results.experiments else ():
        yield from _compared_rows(results, scope)


def _called(node: ast.expr | None) -> tuple[str, str]:
    """Return the metric and the method of a call of `score` or `ascore`; empty for others."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="score" | "ascore" as method)):
            return ast.unparse(owner), method
    return "", ""


def assigned_in(function: ast.Module | Function) -> dict[str, list[ast.expr | None]]:
    """Return what each variable is assigned; None for a loop, a parameter and other ways to bind it."""
    found: dict[str, list[ast.expr | None]] = {}
    simple: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            simple.add(id(node.targets[0]))
            found.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in simple:
            found.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(None)
    return found


def _awaits(results: Results, function: Function) -> Iterator[Finding]:
    """Yield `ascore` without `await` whose result is read, and `score` with it."""
    parameters = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    known = results.metrics.keys() - parameters
    assigned = assigned_in(function)
    read: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in RESULT_FIELDS:
            values = assigned.get(node.value.id, []) if isinstance(node.value, ast.Name) else [node.value]
            if all(_called(each)[1] == "ascore" for each in values):
                read += [each for each in values if each is not None]
        elif isinstance(node, ast.Await):
            metric, method = _called(node.value)
            if metric in known and method == "score" and isinstance(node.value, ast.Call):
                end = results.program.span(node.value.func).end
                message = f"`{metric}.score` returns no coroutine; `ascore` is the method to await"
                yield Finding.suggest(Span(end - len(method), end), message, "ascore", preferred=True)
    for call in {id(each): each for each in read}.values():
        metric, method = _called(call)
        if method == "ascore" and isinstance(call, ast.Call):
            span = results.program.span(call)
            edit = Edit.insert(span.start, "await ")
            is_async = isinstance(function, ast.AsyncFunctionDef)
            is_alone = any(call in values for values in assigned.values())
            fixes = (Fix("Insert `await`", (edit,), preferred=True),) if is_async and is_alone else ()
            message = f"without `await`, `{metric}.ascore` returns a coroutine, which has no value"
            yield Finding(results.program.span(call.func), message, fixes)


def _variables(results: Results, function: Function) -> dict[str, Classes]:
    """Return the variables that only hold results of metrics with known values, with these values."""
    found: dict[str, Classes] = {}
    assigned = assigned_in(function)
    for name, values in assigned.items():
        classes: list[object] = []
        for value in values:
            metric, method = _called(value.value if isinstance(value, ast.Await) else value)
            allowed = results.metrics.get(metric) if method and metric not in assigned else None
            if allowed is None:
                break
            classes += allowed
        else:
            found[name] = tuple(dict.fromkeys(classes))
    return found


def _value_of(node: ast.expr, variables: Mapping[str, Classes]) -> tuple[str, Classes] | None:
    """Return an expression's text and the values that it may have, if it is the value of a result."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="value") | ast.Name(id=name) if name in variables:
            return ast.unparse(node), variables[name]
    return None


def _compared(
    results: Results, node: ast.Compare, known: list[tuple[str, Classes] | None]
) -> Iterator[Finding]:
    """Yield the literal that a value is compared with and never equal to; `known` is about the two sides."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return
    for found, literal in zip(known, (node.comparators[0], node.left), strict=True):
        if found is None or not isinstance(literal, ast.Constant) or not isinstance(literal.value, str):
            continue
        text, classes = found
        if literal.value in classes:
            continue
        meant = nearest(literal.value, map(str, classes))
        fixes = (change_literal(results.program, literal, meant),) if meant else ()
        message = f"`{text}` is never `{literal.value}`: the metric allows {in_code(classes)}"
        yield Finding(results.program.span(literal), message, fixes)


def _columns(results: Results, experiment: Function) -> dict[str, Classes]:
    """Return the columns of an experiment's results that hold values of metrics, with these values."""
    variables, assigned = _variables(results, experiment), assigned_in(experiment)
    rows: list[dict[str, Classes]] = []
    for values in _returned(ast.walk(experiment), assigned):
        literal = values[0] if len(values) == 1 else None
        if not isinstance(literal, ast.Dict):
            return {}
        row: dict[str, Classes] = {}
        for key, value in zip(literal.keys, literal.values, strict=True):
            known = _value_of(value, variables) if isinstance(value, ast.Attribute) else None
            if not isinstance(key, ast.Constant):
                row.clear()  # This may set any column.
            elif known is not None:
                row[str(key.value)] = known[1]
            else:
                row.pop(str(key.value), None)
        rows.append(row)
    common = set(rows[0]).intersection(*rows) if rows else set[str]()
    return {name: tuple(dict.fromkeys(each for row in rows for each in row[name])) for name in common}


def _keys(experiment: Function) -> set[str]:
    """Return the keys of an experiment's results, if it returns nothing but literal mappings."""
    assigned = assigned_in(experiment)
    keys: set[str] = set()
    for values in _returned(own_nodes(experiment), assigned):
        for value in values or [None]:
            if not isinstance(value, ast.Dict) or not all(
                isinstance(each, ast.Constant) for each in value.keys
            ):
                return set()
            keys |= {str(each.value) for each in value.keys if isinstance(each, ast.Constant)}
    return keys


def _returned(
    nodes: Iterable[ast.AST], assigned: Mapping[str, list[ast.expr | None]]
) -> Iterator[list[ast.expr | None]]:
    """Yield the values of each `return` among the nodes: those of the variable that it names, or its own."""
    for node in nodes:
        if isinstance(node, ast.Return):
            yield assigned.get(node.value.id, []) if isinstance(node.value, ast.Name) else [node.value]


def _unknown_column(program: Program, node: ast.Subscript, row: str, keys: set[str]) -> Iterator[Finding]:
    """Yield a column of a result that the experiment does not return, and that nothing sets."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)) as place):
            meant = nearest(key, keys) if name == row and key not in keys | program.stored_keys else None
            if meant is not None:
                message = f"the experiment returns no `{key}`"
                yield suggest_literal(program, place, message, meant, preferred=False)


def _column_of(node: ast.expr, row: str, columns: Mapping[str, Classes]) -> tuple[str, Classes] | None:
    """Return an expression's text and the values that it may have, if it is such a column of a row."""
    match node:
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)))
            | ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key))]
            )
        ) if name == row and key in columns:
            return ast.unparse(node), columns[key]
    return None


def _run(node: ast.expr | None) -> str:
    """Return the name before `arun` in a call that waits for its results; empty for others."""
    match node:
        case ast.Await(value=call) | ast.Call(func=ast.Attribute(attr="run"), args=[call]):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="arun")):
                    return name
    return ""


def _compared_rows(results: Results, scope: ast.Module | Function) -> Iterator[Finding]:
    """Yield the comparisons of columns of an experiment's results in loops over them."""
    runs = {name: {_run(each) for each in values} for name, values in assigned_in(scope).items()}
    for node in ast.walk(scope):
        loops: list[ast.comprehension | ast.For] = []
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            loops += node.generators
        elif isinstance(node, ast.For):
            loops.append(node)
        for loop in loops:
            if not (isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Name)):
                continue
            made = runs.get(loop.iter.id, ())
            experiment = results.experiments.get(*made) if len(made) == 1 else None
            bound = [each for each in ast.walk(node) if binds(each, loop.target.id)]
            if experiment is None or len(bound) != 1:
                continue
            columns, keys = _columns(results, experiment), _keys(experiment)
            for each in ast.walk(node):
                if isinstance(each, ast.Subscript) and keys:
                    yield from _unknown_column(results.program, each, loop.target.id, keys)
                if isinstance(each, ast.Compare) and columns:
                    sides = (each.left, each.comparators[0])
                    known = [_column_of(side, loop.target.id, columns) for side in sides]
                    yield from _compared(results, each, known)
