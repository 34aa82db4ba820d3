"""The conditions of a JSON Schema: what is needed where the value beside it is one of some constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from promptls.meaning.given import clause_words
from promptls.meaning.shape import Clause, Need, Shape, fails_for_null


def where_words(shape: Shape) -> str:
    """Where an optional value is needed, as people read it; empty where it is not, or that is not known."""
    certain = sorted(clause_words(clause) for clause in shape.needed if _is_certain(clause))
    return "; or ".join(certain)


def conditions_of_keys(keys: Iterable[tuple[str, Shape]]) -> list[dict[str, Any]]:
    """For each clause the `if` and `then` of the keys that are needed where it holds."""
    needed: dict[Clause, list[tuple[str, Shape]]] = {}
    for name, shape in keys:
        for clause in shape.needed:
            if _is_certain(clause):
                needed.setdefault(clause, []).append((name, shape))
    return [
        {"if": _if(clause), "then": _then(found)}
        for clause, found in sorted(needed.items(), key=lambda each: clause_words(each[0]))
    ]


def _is_certain(clause: Clause) -> bool:
    return not any(need.is_partial for need in clause)


def _if(clause: Clause) -> dict[str, Any]:
    tests = [_test(need) for need in sorted(clause, key=lambda need: (need.way, need.is_among))]
    return tests[0] if len(tests) == 1 else {"allOf": tests}


def _test(need: Need) -> dict[str, Any]:
    """The schema of what holds a value that is, or is none of, the constants."""
    values = sorted(need.values, key=repr)
    schema: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": values}
    for name in reversed(need.way):
        schema = {"properties": {name: schema}, "required": [name]}
    return schema if need.is_among else {"not": schema}


def _then(found: Iterable[tuple[str, Shape]]) -> dict[str, Any]:
    keys = list(found)
    schema: dict[str, Any] = {"required": [name for name, _ in keys]}
    strict = {name: {"not": {"type": "null"}} for name, shape in keys if fails_for_null(shape)}
    return {"properties": strict, **schema} if strict else schema
