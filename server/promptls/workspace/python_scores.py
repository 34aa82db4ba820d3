"""Which columns of its results an experiment in Python fills with which metric."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


def scored_columns(node: ast.AST, metrics: set[str]) -> Iterator[tuple[str, str]]:
    """Columns of results and the metrics that fill them, as `{"labels_score": labels.score(…).value}` says.

    A name in between is followed where the function assigns it once.
    """
    assigned: dict[str, list[ast.expr]] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(each.value)
    for each in ast.walk(node):
        if isinstance(each, ast.Dict):
            for key, value in zip(each.keys, each.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    metric = _scoring(value, assigned)
                    if metric in metrics:
                        yield key.value, str(metric)


def _scoring(node: ast.expr, assigned: Mapping[str, list[ast.expr]]) -> str | None:
    """The name of the metric whose score an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        node = node.value
    if isinstance(node, ast.Name):
        values = assigned.get(node.id, [])
        if len(values) != 1:
            return None
        node = values[0]
    if isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_score = node.func.attr in {"score", "ascore"} and isinstance(node.func.value, ast.Name)
        return node.func.value.id if is_score and isinstance(node.func.value, ast.Name) else None
    return None
