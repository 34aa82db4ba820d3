"""An OpenCompass configuration in Python, read as data: nothing of it is run."""

from __future__ import annotations

import ast
from typing import Any, Final

from promptls.text.failure import Failure

_WANTED: Final = ("infer_cfg", "reader_cfg")


def read_configuration(text: str) -> dict[str, Any]:
    """`infer_cfg` and `reader_cfg` of the file, by the ends of their variables' names; raises Failure.

    Calls of `dict` become mappings, other calls and names become their names.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Failure(f"the file is no Python: {error}") from error
    known: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        value = _value(statement.value, known)
        for target in statement.targets:
            if isinstance(target, ast.Name):
                known[target.id] = value
                for wanted in _WANTED:
                    if target.id.endswith(wanted) and isinstance(value, dict):
                        found.setdefault(wanted, value)
    if "infer_cfg" not in found:
        raise Failure("the file sets no variable whose name ends in `infer_cfg`")
    return found


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name, name)
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return {each.arg: _value(each.value, known) for each in keywords if each.arg}
        case ast.Dict(keys=keys, values=values):
            return {
                str(_value(key, known)): _value(value, known)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, known) for item in items]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _value(left, known), _value(right, known)
            return first + second if isinstance(first, str) and isinstance(second, str) else ast.unparse(node)
        case _:
            return ast.unparse(node)
