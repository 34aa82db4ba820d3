"""Diagnostics for results of metrics: needless `await`s, and comparisons with impossible values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from promptls.lint.rule import Finding
from promptls.programs.metric_calls import Metrics, scored_metric
from promptls.programs.metric_prompts import Classes
from promptls.programs.program import Program, change_literal, suggest_literal
from promptls.syntax.python_places import Function, dict_items, key_read, last_name, text_of
from promptls.text.format import in_code
from promptls.text.suggest import nearest
from promptls.workspace.python_scopes import own_nodes

_OF_SAMPLES: Final = frozenset({"single_turn_score", "multi_turn_score"})
"""Methods of Ragas that score a sample, and return no coroutine."""


class Results(NamedTuple):
    """A program, its metrics and its experiments."""

    program: Program
    metrics: Metrics
    experiments: Mapping[str, Function]


def findings_in_results(results: Results) -> Iterator[Finding]:
    """Yield scores with `await`, and comparisons of a value with one that the metric does not allow."""
    yield from _awaits(results)
    for node in results.program.nodes:
        if isinstance(node, ast.Compare):
            sides = (node.left, node.comparators[0])
            yield from _compared(results, node, [_value_of(results, side) for side in sides])
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield from _conditions(results, node.test)
        elif results.experiments:
            yield from _compared_rows(results, node)


def _conditions(results: Results, test: ast.expr) -> Iterator[Finding]:
    """Yield the result of a metric of Ragas as a condition."""
    tested = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    made = results.program.values_of(tested) if isinstance(tested, ast.Name) else []
    are_results = all(scored_metric(results.program, each, results.metrics) for each in made)
    is_of_ragas = {package for package, _ in results.program.imports.names.values()} == {"ragas"}
    if is_of_ragas and made and are_results:
        message = "a result is true with any text, and fails with a number: compare its `value`"
        yield Finding(results.program.span(tested), message)


def _awaits(results: Results) -> Iterator[Finding]:
    """Yield `score` with `await`."""
    program = results.program
    for node in program.nodes:
        call = _awaited(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            is_scored = call.func.attr == "score" and scored_metric(program, call, results.metrics)
            if is_scored or _is_sample_score(program, call):
                awaited = call.func.attr.replace("score", "ascore")
                span = program.places.attribute_span(call.func)
                message = (
                    f"`{ast.unparse(call.func)}` returns no coroutine; `{awaited}` is the method to await"
                )
                yield Finding.suggest(span, message, awaited, preferred=True)


def _awaited(node: ast.AST) -> ast.expr | None:
    """Return what `await` or `asyncio.run` waits for."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) == "run":
        return node.args[0]
    return node.value if isinstance(node, ast.Await) else None


def _is_sample_score(program: Program, call: ast.Call) -> bool:
    """Return whether a call scores a sample of Ragas at once; the program may define such a method itself."""
    name = last_name(call.func)
    return name in _OF_SAMPLES and all(each.name != name for each in program.functions)


def _classes_of(results: Results, node: ast.expr) -> Classes:
    """Return the values that a variable may have if it is always the result of a metric; else nothing."""
    found: list[object] = []
    for value in results.program.values_of(node) if isinstance(node, ast.Name) else ():
        metric = scored_metric(results.program, value, results.metrics)
        if metric is None or metric.classes is None:
            return ()
        found += metric.classes
    return tuple(dict.fromkeys(found))


def _value_of(results: Results, node: ast.expr) -> tuple[str, Classes] | None:
    """Return an expression's text and the values that it may have, if it is the value of a result."""
    is_value = isinstance(node, ast.Attribute) and node.attr == "value"
    classes = _classes_of(results, node.value if is_value and isinstance(node, ast.Attribute) else node)
    return (ast.unparse(node), classes) if classes else None


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


def _rows(results: Results, experiment: Function) -> list[dict[str | None, Classes]]:
    """Return the literal mappings that an experiment returns; nothing if it may return others.

    Each column is with the values that it may have, if they are those of metrics. None is any other column.
    """
    rows: list[dict[str | None, Classes]] = []
    for node in own_nodes(experiment):
        for value in results.program.values_of(node.value) or [None] if isinstance(node, ast.Return) else ():
            if not isinstance(value, ast.Dict):
                return []
            row: dict[str | None, Classes] = {}
            for name, _, item in dict_items(value):
                row = row if name is not None else dict.fromkeys(row, ())  # This may set any column.
                known = _value_of(results, item) if isinstance(item, ast.Attribute) else None
                row[name] = known[1] if known is not None and name is not None else ()
            rows.append(row)
    return rows


def _columns(rows: list[dict[str | None, Classes]]) -> dict[str, Classes]:
    """Return the columns of results that are values of metrics in all rows, with these values."""
    shared = [name for name in rows[0] if all(row.get(name) for row in rows)] if rows else []
    return {
        name: tuple(dict.fromkeys(each for row in rows for each in row[name]))
        for name in shared
        if name is not None
    }


def _unknown_column(program: Program, node: ast.Subscript, row: str, keys: set[str]) -> Iterator[Finding]:
    """Yield a column of a result that the experiment does not return, and that nothing sets."""
    name, place = key_read(node)
    key = text_of(place) or ""
    meant = nearest(key, keys) if name == row and key not in keys | program.stored_keys else None
    if place is not None and meant is not None:
        message = f"the experiment returns no `{key}`"
        yield suggest_literal(program, place, message, meant, preferred=False)


def _column_of(node: ast.expr, row: str, columns: Mapping[str, Classes]) -> tuple[str, Classes] | None:
    """Return an expression's text and the values that it may have, if it is such a column of a row."""
    name, place = key_read(node)
    classes = columns.get(text_of(place) or "") if name == row else None
    return None if classes is None else (ast.unparse(node), classes)


def _run(node: ast.expr | None) -> str:
    """Return the name before `arun` in a call that waits for its results; empty for others."""
    match node:
        case ast.Await(value=call) | ast.Call(func=ast.Attribute(attr="run"), args=[call]):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="arun")):
                    return name
    return ""


def _compared_rows(results: Results, node: ast.AST) -> Iterator[Finding]:
    """Yield the comparisons of columns of an experiment's results in a loop over them."""
    loops: list[ast.comprehension | ast.For] = []
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        loops += node.generators
    elif isinstance(node, ast.For):
        loops.append(node)
    for loop in loops:
        if not (isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Name)):
            continue
        made = {_run(each) for each in results.program.values_of(loop.iter)}
        experiment = results.experiments.get(*made) if len(made) == 1 else None
        bound = [each for each in ast.walk(node) if _binds(each, loop.target.id)]
        if experiment is None or len(bound) != 1:
            continue
        rows = _rows(results, experiment)
        columns, keys = _columns(rows), {str(name) for row in rows for name in row}
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript) and keys and all(None not in row for row in rows):
                yield from _unknown_column(results.program, each, loop.target.id, keys)
            if isinstance(each, ast.Compare) and columns:
                sides = (each.left, each.comparators[0])
                known = [_column_of(side, loop.target.id, columns) for side in sides]
                yield from _compared(results, each, known)


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether a node binds a variable or parameter."""
    is_name = isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    return is_name or (isinstance(node, ast.arg) and node.arg == name)
