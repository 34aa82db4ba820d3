"""Diagnostics for the scores of an evaluation by Ragas: keys and columns that no metric of it gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_results import assigned_in
from promptls.programs.program import Program, argument, change_literal, is_open
from promptls.programs.ragas_classes import INSTANCES, METRIC_CLASSES
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest

_MEANINGS: Final = frozenset({("ragas", "evaluate"), ("ragas", "aevaluate")})
_DEFAULTS: Final = ("answer_relevancy", "context_precision", "context_recall", "faithfulness")
"""The metrics of an evaluation that names none."""
_SAME_COLUMNS: Final = frozenset({"copy", "dropna", "fillna", "head", "iloc", "loc", "mean", "reset_index"})
"""Attributes of a table that have its columns."""
_RECORDS: Final = "to_dict"
_MAX_STEPS: Final = 20


class _Scores(NamedTuple):
    """The names of an evaluation's metrics, and whether an expression is its result or a table made of it."""

    names: tuple[str, ...]
    is_table: bool


def findings_in_scores(program: Program) -> Iterator[Finding]:
    """Yield the keys and columns of evaluations that none of their metrics has."""
    if not any(program.meaning(call.func) in _MEANINGS for call in program.calls):
        return
    changed = {node.attr for node in program.nodes if _is_store(node) and isinstance(node, ast.Attribute)}
    if changed & {"columns", "name"}:
        return
    stored: set[object] = {
        node.slice.value
        for node in program.nodes
        if isinstance(node, ast.Subscript) and _is_store(node) and isinstance(node.slice, ast.Constant)
    }
    grown = {_grown(node) for node in program.nodes}
    for scope in (program.tree, *program.functions):
        assigned = assigned_in(scope)
        for name in grown:
            assigned.setdefault(name, []).append(None)  # What the list contains is not known.
        for node in ast.walk(scope):
            match node:
                case ast.Subscript(value=value, slice=ast.Constant(value=str()) as key, ctx=ast.Load()):
                    yield from _keys(program, _scores(program, value, assigned), [key], stored)
                case ast.Subscript(value=value, slice=ast.List(elts=keys), ctx=ast.Load()):
                    yield from _keys(program, _scores(program, value, assigned), keys, stored)
                case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                    yield from _keys(program, _scores(program, value, assigned), [key], stored)
                case ast.Attribute(value=value, attr=name) if name in INSTANCES:
                    scores = _scores(program, value, assigned)
                    if scores is not None and not scores.is_table and name in scores.names:
                        yield _attribute(program, node, name)


def _is_store(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _scores(
    program: Program, node: ast.expr, assigned: Mapping[str, list[ast.expr | None]], steps: int = 0
) -> _Scores | None:
    """Return the scores that an expression has; None if it is no evaluation, or one of unknown metrics."""
    if steps > _MAX_STEPS:
        return None
    match node:
        case ast.Await(value=value):
            return _scores(program, value, assigned, steps + 1)
        case ast.Name(id=name):
            values = assigned.get(name, [])
            made = values[0] if len(values) == 1 else None
            return None if made is None else _scores(program, made, assigned, steps + 1)
        case ast.Call(func=function) if program.meaning(function) in _MEANINGS:
            names = _names(program, node, assigned)
            return None if names is None else _Scores(names, is_table=False)
        case ast.Call(func=ast.Attribute(value=value, attr="to_pandas")):
            scores = _scores(program, value, assigned, steps + 1)
            return None if scores is None or scores.is_table else _Scores(scores.names, is_table=True)
        case ast.Call(func=ast.Attribute(attr=name) as inner) if name in {*_SAME_COLUMNS, _RECORDS}:
            return _table(_scores(program, inner.value, assigned, steps + 1))
        case ast.Attribute(value=value, attr=name) if name in _SAME_COLUMNS:
            return _table(_scores(program, value, assigned, steps + 1))
        case ast.Subscript(value=value, slice=ast.List() | ast.Constant(value=int())):
            return _table(_scores(program, value, assigned, steps + 1))
    return None


def _table(scores: _Scores | None) -> _Scores | None:
    return scores if scores is not None and scores.is_table else None


def _names(
    program: Program, call: ast.Call, assigned: Mapping[str, list[ast.expr | None]]
) -> tuple[str, ...] | None:
    """Return the names of the metrics of an evaluation; None if they are not all known."""
    metrics = argument(call, "metrics") or next(iter(call.args[1:2]), None)
    if metrics is None:
        return None if is_open(call) else _DEFAULTS
    if isinstance(metrics, ast.Name):
        values = assigned.get(metrics.id) or [program.value_of(metrics.id)]
        metrics = values[0] if len(values) == 1 else None
    if not isinstance(metrics, ast.List):
        return None
    found = [_name(program, each) for each in metrics.elts]
    known = tuple(each for each in found if each is not None)
    return known if known and len(known) == len(found) else None


def _grown(node: ast.AST) -> str:
    """Return the variable with a list to which a node adds an item, or may; empty for others."""
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend" | "insert"):
            return owner
    return ""


def _name(program: Program, metric: ast.expr) -> str | None:
    """Return the name of the scores of a metric; None if it is not known."""
    package, name = program.meaning(metric)
    if isinstance(metric, ast.Name) and not package:
        metric = program.value_of(metric.id) or metric
    if package == "ragas" and name in INSTANCES:
        return METRIC_CLASSES[INSTANCES[name]].result
    if not isinstance(metric, ast.Call) or is_open(metric):
        return None
    package, name = program.meaning(metric.func)
    known = METRIC_CLASSES.get(name) if package == "ragas" else None
    given = argument(metric, "name")
    if given is not None:
        return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    return known.result or None if known is not None and not metric.args else None


def _keys(
    program: Program, scores: _Scores | None, keys: list[ast.expr], stored: set[object]
) -> Iterator[Finding]:
    """Yield the keys that are no metric of the evaluation; a table may have other columns."""
    for key in keys if scores is not None else ():
        name = key.value if isinstance(key, ast.Constant) else None
        if scores is None or not isinstance(name, str) or name in stored or _is_score(name, scores.names):
            continue
        ran = next((each for each in scores.names if is_typo(name, each)), None)
        span = program.span(key)
        if (scores.is_table and ran is None) or name not in program.text[span.start : span.end]:
            continue
        meant = ran or nearest(name, scores.names)
        fixes = (change_literal(program, key, meant, preferred=ran is not None),) if meant else ()
        suggestion = f"; did you mean `{meant}`?" if meant else ""
        yield Finding(span, f"the evaluation has no metric `{name}`{suggestion}", fixes)


def _is_score(key: str, names: tuple[str, ...]) -> bool:
    """Return whether a key is that of a metric, which may have its mode behind its name."""
    return key == "ragas_score" or any(
        key == name or key.startswith((f"{name}(", f"{name}_")) for name in names
    )


def _attribute(program: Program, node: ast.Attribute, name: str) -> Finding:
    """Return the finding for a score that is read like an attribute."""
    end = program.span(node).end
    span = Span(end - len(name), end)
    fix = Fix(f'Change to `["{name}"]`', (Edit(Span(span.start - 1, end), f'["{name}"]'),), preferred=True)
    return Finding(span, f"the scores of an evaluation are keys: `[{name!r}]`", (fix,))
