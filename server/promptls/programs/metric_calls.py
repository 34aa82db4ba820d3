"""Diagnostics for metrics in a program: their definitions, their calls, and the attributes of results."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import (
    PROMPTED,
    SCORES,
    classes_of,
    fields_of,
    findings_in_metric_prompts,
    limits_of,
)
from promptls.programs.metric_results import RESULT_FIELDS, Classes, assigned_in
from promptls.programs.program import (
    COLLECTIONS,
    Function,
    Program,
    argument,
    change_literal,
    imported_programs,
    is_open,
    own_nodes,
    parameters_of,
    unknown_argument,
)
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.python_experiments import required_parameters

_LITERALS: Final[Mapping[str, tuple[type[ast.expr], ...]]] = {
    "discrete_metric": (ast.Tuple, ast.Constant),
    "numeric_metric": (ast.List,),
    "ranking_metric": (ast.List, ast.Tuple),
}
"""Literals with which a metric of Ragas is of another kind, and all of its scores are None."""
_ALLOWED: Final[Mapping[str, str]] = {
    "discrete_metric": "a list of the values",
    "numeric_metric": "a tuple of the lowest and the highest value",
    "ranking_metric": "the number of items",
}
_RESULT_ATTRIBUTES: Final = RESULT_FIELDS | {"to_dict", "validate"}
_VALUES: Final = (str, float, int, list)
"""The types of the values of results, whose attributes a result has too."""
_SYNONYMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("score", "result", "label", "verdict"), "value"),
    **dict.fromkeys(("explanation", "feedback", "rationale", "reasoning"), "reason"),
}
"""What results of other libraries call these attributes."""


class _Metric(NamedTuple):
    """A decorated metric: its function, the literal classes of a discrete one, limits of a numeric one."""

    function: Function
    classes: Classes | None
    limits: tuple[float, float] | None = None


class _Prompt(NamedTuple):
    """The prompt of a metric, the program that writes it, and its fields."""

    program: Program
    node: ast.expr
    fields: list[str]
    needs_judge: bool
    """Whether each score must be given the judge."""


@dataclass(frozen=True)
class Metrics:
    """The metrics that a program may use, by the names of their variables."""

    decorated: Mapping[str, _Metric]
    prompts: Mapping[str, _Prompt]
    """The literal prompts of those that have one."""
    classes: Mapping[str, Classes | None]
    """The values that each of all metrics allows; None if they are not known."""
    collected: Collection[str]
    """The names of the classes of metrics of `ragas.metrics.collections`."""


def metrics_of(program: Program) -> Metrics:
    """Return the metrics of a program, with those that it imports from a file beside it."""
    decorated = _decorated(program)
    prompts: dict[str, _Prompt] = {}
    classes = {name: metric.classes for name, metric in decorated.items()}
    for name, call in program.assigned_calls():
        made = program.library_name(call.func)
        if made in PROMPTED:
            classes[name] = classes_of(call) if made == "DiscreteMetric" else None
            prompt = program.resolved(argument(call, "prompt"))
            if prompt is not None and (fields := fields_of(prompt)) is not None:
                needs_judge = program.meaning(call.func)[0] == "ragas" and argument(call, "llm") is None
                prompts[name] = _Prompt(program, prompt, fields, needs_judge and not is_open(call))
    for other, names in imported_programs(program) if program.names else ():
        found = metrics_of(replace(other, nodes=()))  # What it imports itself is not followed.
        for name, there in names.items():
            if there in found.decorated:
                decorated[name] = found.decorated[there]
            if there in found.prompts:
                prompts[name] = found.prompts[there]
            if there in found.classes:
                classes[name] = found.classes[there]
    return Metrics(decorated, prompts, classes, program.imported_from(COLLECTIONS).keys())


def findings_in_metrics(program: Program, metrics: Metrics) -> Iterator[Finding]:
    """Yield the wrong definitions and calls of metrics, and the wrong attributes of their results."""
    for call in program.calls:
        yield from _allowed_values(program, call)
        yield from _score(program, call, metrics)
        yield from _prompted_score(program, call, metrics)
    yield from findings_in_metric_prompts(program)
    for scope in (program.tree, *program.functions):
        yield from _attributes(program, scope, metrics)
    for function in program.functions:
        metric = _metric(program, function)
        if metric is not None:
            yield from _values(program, metric)


# -- definitions ----------------------------------------------------------------------


def _metric(program: Program, function: Function) -> _Metric | None:
    """Return the metric that a decorated function is."""
    decorator = program.decorator(function, METRIC_DECORATORS)
    called = program.library_name(decorator.func) if isinstance(decorator, ast.Call) else ""
    classes = classes_of(decorator) if decorator is not None and called == "discrete_metric" else None
    limits = limits_of(decorator) if decorator is not None and called == "numeric_metric" else None
    return None if decorator is None else _Metric(function, classes, limits)


def _decorated(program: Program) -> dict[str, _Metric]:
    """Return the metrics at the top level of a program by their names."""
    made = ((function.name, _metric(program, function)) for function in program.own_functions)
    return {name: metric for name, metric in made if metric is not None}


def _allowed_values(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the `allowed_values` of a metric that make it another kind, or with which nothing is scored."""
    package, name = program.meaning(call.func)
    kind = PROMPTED.get(name, name)
    allowed = argument(call, "allowed_values") if kind in METRIC_DECORATORS else None
    if allowed is None:
        return
    span, message = program.span(allowed), f"the `allowed_values` of `{name}` are {_ALLOWED[kind]}"
    match allowed:
        case ast.Constant(value=str() as text) if kind != "ranking_metric":
            is_list = kind == "discrete_metric" and "," in text
            values = ", ".join(f'"{each.strip()}"' for each in text.split(","))
            fixes = (Fix("Write a list", (Edit(span, f"[{values}]"),)),) if is_list else ()
            yield Finding(span, f"{message}, and not one text", fixes)
        case ast.Tuple(elts=[ast.Constant(value=low), ast.Constant(value=high)]) if (
            isinstance(low, int | float) and isinstance(high, int | float) and low > high
        ):
            yield Finding(span, f"no score is between {low} and {high}: the first is the minimum")
        case _ if package == "ragas" and isinstance(allowed, _LITERALS[kind]):
            yield Finding(span, f"{message}: with these, Ragas scores nothing")


def _values(program: Program, metric: _Metric) -> Iterator[Finding]:
    """Yield the literal values that a metric does not allow, and comparisons of a discrete one."""
    if metric.classes is None and metric.limits is None:
        return
    assigned = assigned_in(metric.function)
    for node in own_nodes(metric.function):
        value: ast.expr | None = None
        if isinstance(node, ast.Call) and program.library_name(node.func) == "MetricResult":
            value = argument(node, "value") or next(iter(node.args[:1]), None)
        elif isinstance(node, ast.Return):
            value = node.value
        values = assigned.get(value.id, []) if isinstance(value, ast.Name) else [value]
        for branch in (each for value in values for each in _branches(value)):
            if metric.classes is not None:
                yield from _value(program, branch, metric.classes)
            elif metric.limits is not None:
                yield from _number(program, branch, *metric.limits)


def _branches(node: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the values of a conditional expression, or the only one."""
    if isinstance(node, ast.IfExp):
        yield from _branches(node.body)
        yield from _branches(node.orelse)
    elif node is not None:
        yield node


def _number(program: Program, node: ast.expr, low: float, high: float) -> Iterator[Finding]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str) or (isinstance(value, int | float) and not low <= value <= high):
        message = f"the metric allows {low} to {high}, and not `{value}`: it has no score"
        yield Finding(program.span(node), message)


def _value(program: Program, node: ast.expr, classes: Classes) -> Iterator[Finding]:
    allowed, span = in_code(classes), program.span(node)
    is_test = isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
    fixes: tuple[Fix, ...] = ()
    if is_test and not {True, False} <= {*classes}:
        if len(classes) == len(("good", "bad")):
            written = f"{classes[0]!r} if {ast.unparse(node)} else {classes[1]!r}"
            fixes = (Fix("Choose one of the values", (Edit(span, written.replace("'", '"')),)),)
        yield Finding(span, f"the metric allows {allowed}, and not `True` and `False`", fixes)
    elif isinstance(node, ast.Constant) and node.value is not None and node.value not in classes:
        meant = nearest(str(node.value), map(str, classes))
        fixes = (change_literal(program, node, meant),) if meant else ()
        yield Finding(span, f"the metric allows {allowed}, and not `{node.value!s}`: it has no score", fixes)


# -- calls ----------------------------------------------------------------------------


def _scored(program: Program, call: ast.Call, metrics: Metrics) -> _Metric | None:
    """Return the metric whose `score` a call calls, if the program defines its name once."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if method in SCORES:
            return metrics.decorated.get(name) if program.definitions.get(name, 1) == 1 else None
    return None


def _score(program: Program, call: ast.Call, metrics: Metrics) -> Iterator[Finding]:
    metric = _scored(program, call, metrics)
    if metric is None:
        return
    name, arguments = ast.unparse(call.func), metric.function.args
    parameters = parameters_of(metric.function)
    if call.args and not any(isinstance(each, ast.Starred) for each in call.args):
        message = f"`{name}` takes its arguments by name: `{parameters[0]}=…`"
        yield Finding(program.span(call.args[0]), message)
        return
    if is_open(call) or arguments.kwarg or arguments.posonlyargs:
        return
    given = {keyword.arg for keyword in call.keywords}
    unknown = [each for each in call.keywords if each.arg not in parameters]
    missing = [each for each in required_parameters(metric.function.args) if each not in given]
    for keyword in unknown:
        found = unknown_argument(program, keyword, f"the metric takes no `{keyword.arg}`", missing)
        yield found if missing else replace(found, severity="warning")  # The metric ignores it.
    if missing and not unknown:
        yield Finding(program.span(call.func), f"`{name}` needs {in_code(missing)}")


def _prompted_score(program: Program, call: ast.Call, metrics: Metrics) -> Iterator[Finding]:
    """Yield the fields of a metric's prompt that a call of `score` does not give."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if method in SCORES:
            prompt = metrics.prompts.get(name)
        case _:
            prompt = None
    if prompt is None or call.args or is_open(call):
        return
    given = [keyword.arg for keyword in call.keywords]
    unread = {each.arg or "": each for each in call.keywords if each.arg not in {*prompt.fields, "llm"}}
    if prompt.needs_judge and "llm" not in given:
        yield Finding(program.span(call.func), f"`{ast.unparse(call.func)}` needs `llm`, the judge")
    for field in (field for field in prompt.fields if field not in given):
        meant = nearest(field, unread)
        message = f"the prompt of the metric needs `{field}`"
        if meant is None:
            yield Finding(program.span(call.func), message)
        elif (
            prompt.program is program
            and _reads(unread[meant].value, meant)
            and (place := _place(program, prompt.node, field)) is not None
        ):
            # The value has the name of the argument, so that the field is the typo.
            message = f"no score of the metric is given `{field}`"
            yield Finding.suggest(place, message, meant, preferred=True)
        else:
            span = program.span(unread[meant])
            yield Finding(
                span, f"{message}; this is `{meant}`", (Fix.change_to(span, field, preferred=True),)
            )


def _reads(value: ast.expr, name: str) -> bool:
    """Return whether an expression reads a variable, an attribute or a key of this name."""
    return any(
        name in {getattr(each, "id", None), getattr(each, "attr", None)}
        or (isinstance(each, ast.Constant) and each.value == name)
        for each in ast.walk(value)
    )


def _place(program: Program, prompt: ast.expr, field: str) -> Span | None:
    """Return the place of a field in a literal prompt."""
    span = program.span(prompt)
    at = program.text.find(f"{{{field}}}", span.start, span.end)
    return None if at < 0 else Span(at + 1, at + 1 + len(field))


# -- attributes of results ------------------------------------------------------------


def _attributes(program: Program, scope: ast.Module | Function, metrics: Metrics) -> Iterator[Finding]:
    """Yield the attributes and keys that the result of a metric does not have."""
    nodes = [*(own_nodes(scope) if isinstance(scope, ast.Module) else ast.walk(scope))]
    results: set[str] = set()
    others: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.Assign):
            names = {target.id for target in each.targets if isinstance(target, ast.Name)}
            (results if _is_result(program, each.value, metrics) else others).update(names)
    for each in nodes:
        if not isinstance(each, ast.Attribute | ast.Subscript):
            continue
        is_named = isinstance(each.value, ast.Name) and each.value.id in results - others
        if not is_named and not _is_result(program, each.value, metrics):
            continue
        if isinstance(each, ast.Subscript):
            yield from _key(program, each)
        elif not each.attr.startswith("_") and each.attr not in _RESULT_ATTRIBUTES:
            end = program.span(each).end
            span, message = Span(end - len(each.attr), end), f"the result of a metric has no `{each.attr}`"
            meant = _SYNONYMS.get(each.attr) or nearest(each.attr, _RESULT_ATTRIBUTES)
            if meant is not None:
                yield Finding.suggest(span, message, meant, preferred=True)
            elif not any(hasattr(kind, each.attr) for kind in _VALUES):
                yield Finding(span, message)


def _key(program: Program, node: ast.Subscript) -> Iterator[Finding]:
    """Yield a key of a result, which is an object and no mapping."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str):
        edit = Edit(Span(program.span(node.value).end, program.span(node).end), f".{key}")
        fixes = (Fix(f"Change to `.{key}`", (edit,), preferred=True),) if key in RESULT_FIELDS else ()
        message = "the result of a metric has attributes, and no keys"
        yield Finding(program.span(node.slice), message, fixes)


def _is_result(program: Program, node: ast.expr, metrics: Metrics) -> bool:
    """Return whether an expression is the result of a metric."""
    node = node.value if isinstance(node, ast.Await) else node
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in SCORES:
            made = program.resolved(owner)
            is_collected = isinstance(made, ast.Call) and ast.unparse(made.func) in metrics.collected
            is_prompted = isinstance(owner, ast.Name) and owner.id in metrics.prompts
            return is_collected or is_prompted or _scored(program, node, metrics) is not None
    return False
