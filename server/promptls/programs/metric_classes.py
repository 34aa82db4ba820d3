"""Diagnostics for classes of metrics of Ragas in a program: their columns, methods and prompts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_results import assigned_in
from promptls.programs.program import Program, change_literal, is_open, unknown_argument
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest

_BASES: Final[Mapping[str, str]] = {
    "SingleTurnMetric": "_single_turn_ascore",
    "MultiTurnMetric": "_multi_turn_ascore",
}
"""The base classes of metrics, and the method that each of them needs."""
_COLUMNS: Final = (
    "user_input",
    "response",
    "reference",
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
    "rubrics",
    "reference_topics",
    "reference_tool_calls",
)
_GENERATE: Final = frozenset({"llm", "data", "n", "temperature", "stop", "callbacks", "retries_left"})
"""The parameters of `generate` and `generate_multiple` of a prompt."""
_MODEL_METHODS: Final = ("model_", "dict", "json", "copy")


def findings_in_metric_classes(program: Program, fields: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    """Yield what is wrong with the metrics that a program defines.

    `fields` are the fields of the output of each prompt class of the program.
    """
    for node in program.tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = {program.library_name(base) for base in node.bases}
        if bases & {*_BASES, "MetricWithLLM"}:
            yield from _columns(program, node)
            yield from _decorator(program, node)
            yield from _methods(program, node, bases)
        prompts = _prompts(node, fields)
        if prompts:
            yield from _generated(program, node, prompts)


def _columns(program: Program, node: ast.ClassDef) -> Iterator[Finding]:
    """Yield the misspelled names of required columns."""
    for each in ast.walk(node):
        match each:
            case ast.Dict(keys=keys, values=values):
                sets = [
                    value
                    for key, value in zip(keys, values, strict=True)
                    if key is not None and "MetricType." in ast.unparse(key) and isinstance(value, ast.Set)
                ]
            case _:
                sets = []
        for name in (name for columns in sets for name in columns.elts):
            text = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
            column, colon, ending = text.partition(":")
            meant = nearest(column, _COLUMNS) if column and column not in _COLUMNS else None
            if meant is not None:
                message = f"a sample has no column `{column}`; did you mean `{meant}`?"
                fix = change_literal(program, name, f"{meant}{colon}{ending}")
                yield Finding(program.span(name), message, (fix,))


def _decorator(program: Program, node: ast.ClassDef) -> Iterator[Finding]:
    """Yield a class with `field(…)` that is no dataclass, so that the attribute is the field itself."""
    if node.decorator_list or node.keywords:
        return
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id="field"))):
                start = program.places.span(node).start
                edit = Edit(Span(start, start), "@dataclass\n")
                fix = Fix("Insert `@dataclass`", (edit,), preferred=True)
                message = f"without `@dataclass`, `{name}` is the result of `field`, and not its default"
                yield Finding(program.span(each.target), message, (fix,))
                return


def _methods(program: Program, node: ast.ClassDef, bases: set[str]) -> Iterator[Finding]:
    """Yield a method whose name is similar to that of one that the class needs and lacks."""
    methods = {
        each.name: each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for needed in (_BASES[base] for base in sorted(bases & _BASES.keys())):
        similar = [each for each in methods if is_typo(each, needed)] if needed not in methods else []
        if len(similar) == 1:
            place = methods[similar[0]]
            span = program.places.name_span(place)
            fixes = (Fix.change_to(span, needed, preferred=program.text.count(similar[0]) == 1),)
            yield Finding(span, f"a metric needs the method `{needed}`, and this is `{similar[0]}`", fixes)


def _prompts(node: ast.ClassDef, fields: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the attributes of a class that are prompts of the program, with the fields of their outputs."""
    found: dict[str, frozenset[str]] = {}
    for each in node.body:
        match each:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id=made), args=[]))
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=made), args=[]))
            ) if made in fields:
                found[name] = fields[made]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id="field")) as call):
                factory = next((k.value for k in call.keywords if k.arg == "default_factory"), None)
                if isinstance(factory, ast.Name) and factory.id in fields:
                    found[name] = fields[factory.id]
    return found


def _generated(
    program: Program, node: ast.ClassDef, prompts: Mapping[str, frozenset[str]]
) -> Iterator[Finding]:
    """Yield wrong arguments of `generate`, and fields that its result does not have."""
    for function in node.body:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        outputs: dict[str, frozenset[str]] = {}
        for name, values in assigned_in(function).items():
            match values:
                case [ast.Await(value=call)] if (prompt := _asked(call)) in prompts:
                    outputs[name] = prompts[prompt]
        for each in ast.walk(function):
            match each:
                case ast.Call(keywords=keywords) if _asked(each) in prompts and not is_open(each):
                    given = {keyword.arg for keyword in keywords}
                    for keyword in keywords:
                        if keyword.arg not in _GENERATE:
                            message = f"`generate` has no argument `{keyword.arg}`"
                            yield unknown_argument(program, keyword, message, sorted(_GENERATE - given))
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in outputs:
                    known = outputs[name]
                    if attribute not in known and not attribute.startswith(("_", *_MODEL_METHODS)):
                        end = program.span(each).end
                        span = Span(end - len(attribute), end)
                        meant = nearest(attribute, known)
                        if meant is None:
                            message = f"the output of the prompt has {in_code(sorted(known))}"
                            yield Finding(span, f"{message}, and no `{attribute}`")
                        else:
                            message = f"the output of the prompt has no `{attribute}`"
                            yield Finding.suggest(span, message, meant, preferred=True)


def _asked(node: ast.AST) -> str:
    """Return the attribute of `self` whose `generate` a call calls; empty for others."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr="generate")
        ):
            return name
    return ""
