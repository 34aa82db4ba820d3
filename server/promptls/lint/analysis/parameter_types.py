"""The declared types of the parameters of macros, by what the calls in the same file pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptls.lint.analysis.declared_types import schema_at
from promptls.lint.rule import File
from promptls.semantic.flow.paths import MacroParameter, Step, callee_name, parameter_of
from promptls.semantic.flow.shapes import flow_of
from promptls.semantic.header import DeclaredInput


def typed_parameters(file: File, typed: Mapping[str, DeclaredInput]) -> dict[str, DeclaredInput]:
    """Return the parameters of the file's own macros to which all calls pass a value of one declared type.

    The keys are the roots of the parameters' paths. Another file may pass other values to macros that it imports.
    """
    names = file.template.names
    macros = names.bound_names("macro") if typed else frozenset()
    if not macros or file.snapshot.includers(file.path):
        return {}
    flow = flow_of(file.template)
    parameters = {
        (each.owner, argument): each
        for root in flow.shapes
        if (each := parameter_of((Step(root),))) is not None and each.owner in macros
        for argument in (each.number, each.name)
    }
    passed: dict[MacroParameter, list[tuple[DeclaredInput, Any] | None]] = {}
    for handed in flow.passes if parameters else ():
        parameter = parameters.get((callee_name(handed.callee), handed.argument))
        if parameter is not None:
            key = typed.get(str(handed.path[0].key)) if handed.path else None
            schema = schema_at(key.schema, handed.path) if key is not None else None
            found = (key, schema) if key is not None and isinstance(schema, dict) else None
            passed.setdefault(parameter, []).append(found)
    return {
        parameter.root: DeclaredInput(parameter.name, first[0].span, first[1])
        for parameter, values in passed.items()
        if (first := values[0]) is not None
        and all(each is not None and each[1] == first[1] for each in values)
    }
