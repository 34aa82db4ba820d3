"""Diagnostics for metrics in a program: definitions, calls, and the scores and attributes of results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptls.lint.analysis.declared_experiments import METRIC_DECORATORS
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_prompts import (
    PROMPTED,
    Classes,
    classes_of,
    fields_of,
    findings_in_metric_prompts,
    limits_of,
)
from promptls.programs.program import (
    Program,
    change_literal,
    imported_objects,
    is_open,
    returns_nothing,
    suggest_literal,
    unknown_argument,
)
from promptls.programs.ragas_classes import INSTANCES, METRIC_CLASSES
from promptls.syntax.python_places import (
    Function,
    argument,
    constant_in,
    parameter_names,
    required_parameters,
    text_of,
)
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.python_experiments import RESULT_FIELDS, scored_by
from promptls.workspace.python_scopes import own_nodes

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


class _Prompt(NamedTuple):
    """The prompt of a metric, the program that writes it, and its fields."""

    program: Program
    node: ast.expr
    fields: list[str]
    needs_judge: bool
    """Whether each score must be given the judge."""


class _Metric(NamedTuple):
    """A metric: its function or its literal prompt, the values of a discrete one, limits of a numeric one."""

    function: Function | None
    prompt: _Prompt | None
    classes: Classes | None
    limits: tuple[float, float] | None = None


Metrics: TypeAlias = Mapping[str, _Metric]


def metrics_of(program: Program) -> Metrics:
    """Return the metrics of a program by name, with those that it imports from a file beside it."""
    return {**_named(program), **(imported_objects(program, _named) if program.imports.names else {})}


def _named(program: Program) -> dict[str, _Metric]:
    """Return the metrics in the variables of a program, and its decorated functions."""
    made = ((function.name, _metric(program, function)) for function in program.own_functions)
    named = {name: metric for name, metric in made if metric is not None}
    for name, call in program.assigned_calls():
        kind = program.library_name(call.func)
        if kind in PROMPTED:
            classes = classes_of(call) if kind == "DiscreteMetric" else None
            named[name] = _Metric(None, _prompt(program, call), classes)
    return named


def _prompt(program: Program, call: ast.Call) -> _Prompt | None:
    """Return the literal prompt of the metric that a call makes."""
    prompt = program.resolved(argument(call, "prompt"))
    fields = fields_of(prompt)
    if prompt is None or fields is None:
        return None
    needs_judge = program.meaning(call.func)[0] == "ragas" and argument(call, "llm") is None
    return _Prompt(program, prompt, fields, needs_judge and not is_open(call))


def findings_in_metrics(program: Program, metrics: Metrics) -> Iterator[Finding]:
    """Yield the wrong definitions and calls of metrics, and the wrong attributes of their results."""
    for call in program.calls:
        yield from _allowed_values(program, call)
        yield from _score(program, call, metrics)
        yield from _prompted_score(program, call, metrics)
    yield from findings_in_metric_prompts(program)
    yield from _attributes(program, metrics)
    for function in program.functions:
        metric = _metric(program, function)
        if metric is not None:
            yield from _values(program, function, metric)
            if returns_nothing(function):
                message = f"the metric `{function.name}` returns nothing, and so has no score"
                yield Finding(program.places.name_span(function), message)


# -- definitions ----------------------------------------------------------------------


def _metric(program: Program, function: Function) -> _Metric | None:
    """Return the metric that a decorated function is."""
    decorator = program.imports.decorator(function, METRIC_DECORATORS)
    called = program.library_name(decorator.func) if isinstance(decorator, ast.Call) else ""
    classes = classes_of(decorator) if decorator is not None and called == "discrete_metric" else None
    limits = limits_of(decorator) if decorator is not None and called == "numeric_metric" else None
    return None if decorator is None else _Metric(function, None, classes, limits)


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


def _values(program: Program, function: Function, metric: _Metric) -> Iterator[Finding]:
    """Yield the literal values that a metric does not allow, and comparisons of a discrete one."""
    if metric.classes is None and metric.limits is None:
        return
    for node in own_nodes(function):
        value: ast.expr | None = None
        if isinstance(node, ast.Call) and program.library_name(node.func) == "MetricResult":
            value = argument(node, "value") or next(iter(node.args[:1]), None)
        elif isinstance(node, ast.Return):
            value = node.value
        for branch in (each for one in program.values_of(value) for each in _branches(one)):
            if isinstance(branch, ast.Tuple) and isinstance(node, ast.Return):
                message = "a metric returns one value; a `MetricResult` also has a reason"
                yield Finding(program.span(branch), message)
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
    value = constant_in(node)
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


def scored_metric(program: Program, call: ast.expr | None, metrics: Metrics) -> _Metric | None:
    """Return the metric whose `score` or `ascore` a call calls, if the program defines its name once."""
    return program.named(scored_by(call)[0], metrics)


def _score(program: Program, call: ast.Call, metrics: Metrics) -> Iterator[Finding]:
    metric = scored_metric(program, call, metrics)
    function = metric.function if metric is not None else None
    if function is None:
        return
    name, arguments = ast.unparse(call.func), function.args
    parameters = parameter_names(function)
    if call.args and not any(isinstance(each, ast.Starred) for each in call.args):
        message = f"`{name}` takes its arguments by name: `{parameters[0]}=…`"
        yield Finding(program.span(call.args[0]), message)
        return
    if is_open(call) or arguments.kwarg or arguments.posonlyargs:
        return
    given = {keyword.arg for keyword in call.keywords}
    unknown = [each for each in call.keywords if each.arg not in parameters]
    missing = [each for each in required_parameters(function) if each not in given]
    for keyword in unknown:
        found = unknown_argument(program, keyword, f"the metric takes no `{keyword.arg}`", missing)
        yield found if missing else replace(found, severity="warning")  # The metric ignores it.
    if missing and not unknown:
        yield Finding(program.span(call.func), f"`{name}` needs {in_code(missing)}")


def _prompted_score(program: Program, call: ast.Call, metrics: Metrics) -> Iterator[Finding]:
    """Yield the fields of a metric's prompt that a call of `score` does not give."""
    metric = scored_metric(program, call, metrics)
    prompt = metric.prompt if metric is not None else None
    packages = {package for package, _ in program.imports.names.values()}
    if prompt is not None and call.args and not is_open(call) and packages == {"promptls"}:
        message = f"`{ast.unparse(call.func)}` takes its arguments by name: `llm=…`, for example"
        yield Finding(program.span(call.args[0]), message)
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


def _attributes(program: Program, metrics: Metrics) -> Iterator[Finding]:
    """Yield the attributes and keys that the result of a metric does not have."""
    for each in program.nodes:
        if not isinstance(each, ast.Attribute | ast.Subscript):
            continue
        values = program.values_of(each.value)
        if not values or not all(_is_result(program, value, metrics) for value in values):
            continue
        if isinstance(each, ast.Subscript):
            yield from _key(program, each)
        elif not each.attr.startswith("_") and each.attr not in _RESULT_ATTRIBUTES:
            meant = _SYNONYMS.get(each.attr) or nearest(each.attr, _RESULT_ATTRIBUTES)
            if meant is not None or not any(hasattr(kind, each.attr) for kind in _VALUES):
                span = program.places.attribute_span(each)
                message = f"the result of a metric has no `{each.attr}`"
                yield Finding.suggest(span, message, meant, preferred=True)


def _key(program: Program, node: ast.Subscript) -> Iterator[Finding]:
    """Yield a key of a result, which is an object and no mapping."""
    if (key := text_of(node.slice)) is not None:
        edit = Edit(Span(program.span(node.value).end, program.span(node).end), f".{key}")
        fixes = (Fix(f"Change to `.{key}`", (edit,), preferred=True),) if key in RESULT_FIELDS else ()
        message = "the result of a metric has attributes, and no keys"
        yield Finding(program.span(node.slice), message, fixes)


def _is_result(program: Program, node: ast.expr | None, metrics: Metrics) -> bool:
    """Return whether an expression is the result of a metric."""
    made = program.resolved(scored_by(node)[0])
    is_collected = isinstance(made, ast.Call) and ast.unparse(made.func) in program.collected
    metric = scored_metric(program, node, metrics)
    return is_collected or (metric is not None and metric[:2] != (None, None))


_MEANINGS: Final = frozenset({("ragas", "evaluate"), ("ragas", "aevaluate")})
_DEFAULTS: Final = ("answer_relevancy", "context_precision", "context_recall", "faithfulness")
"""The metrics of an evaluation that names none."""
_SAME_COLUMNS: Final = frozenset({"copy", "dropna", "fillna", "head", "iloc", "loc", "mean", "reset_index"})
"""Attributes of a table that have its columns."""
_RECORDS: Final = "to_dict"
_GROWING: Final = frozenset({"append", "extend", "insert"})
"""The methods after which it is not known what a list contains."""
_MAX_STEPS: Final = 20


class _Scores(NamedTuple):
    """The names of an evaluation's metrics, and whether an expression is its result or a table made of it.

    A table has other columns, and the results are open if some of the metrics are not known.
    """

    names: tuple[str, ...]
    is_table: bool
    is_open: bool = False


def findings_in_scores(program: Program) -> Iterator[Finding]:
    """Yield the keys and columns of evaluations that none of their metrics has."""
    if not any(program.meaning(call.func) in _MEANINGS for call in program.calls):
        return
    if program.stored_attributes & {"columns", "name"}:
        return
    for node in program.nodes:
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=str()) as key, ctx=ast.Load()):
                yield from _keys(program, _scores(program, value), [key])
            case ast.Subscript(value=value, slice=ast.List(elts=keys), ctx=ast.Load()):
                yield from _keys(program, _scores(program, value), keys)
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                yield from _keys(program, _scores(program, value), [key])
            case ast.Attribute(value=value, attr=name) if name in INSTANCES:
                scores = _scores(program, value)
                if scores is not None and not scores.is_table and name in scores.names:
                    yield _attribute(program, node, name)


def _scores(program: Program, node: ast.expr, steps: int = 0) -> _Scores | None:
    """Return the scores that an expression has; None if it is no evaluation, or one of unknown metrics."""
    if steps > _MAX_STEPS:
        return None
    match node:
        case ast.Await(value=value):
            return _scores(program, value, steps + 1)
        case ast.Name():
            made = program.resolved(node)
            return None if made is None else _scores(program, made, steps + 1)
        case ast.Call(func=function) if program.meaning(function) in _MEANINGS:
            names = _names(program, node)
            known = tuple(each for each in names or () if each is not None)
            return _Scores(known, is_table=False, is_open=len(known) < len(names or ())) if known else None
        case ast.Call(func=ast.Attribute(value=value, attr="to_pandas")):
            scores = _scores(program, value, steps + 1)
            return None if scores is None or scores.is_table else scores._replace(is_table=True)
        case ast.Call(func=ast.Attribute(attr=name) as inner) if name in {*_SAME_COLUMNS, _RECORDS}:
            return _table(_scores(program, inner.value, steps + 1))
        case ast.Attribute(value=value, attr=name) if name in _SAME_COLUMNS:
            return _table(_scores(program, value, steps + 1))
        case ast.Subscript(value=value, slice=ast.List() | ast.Constant(value=int())):
            return _table(_scores(program, value, steps + 1))
    return None


def _table(scores: _Scores | None) -> _Scores | None:
    return scores if scores is not None and scores.is_table else None


def _names(program: Program, call: ast.Call) -> tuple[str | None, ...] | None:
    """Return the names of the metrics of an evaluation, with None for each unknown one."""
    metrics = argument(call, "metrics") or next(iter(call.args[1:2]), None)
    if metrics is None:
        return None if is_open(call) else _DEFAULTS
    is_grown = isinstance(metrics, ast.Name) and program.attributes.get(metrics.id, frozenset()) & _GROWING
    metrics = program.resolved(metrics)
    if is_grown or not isinstance(metrics, ast.List):
        return None
    return tuple(_name(program, each) for each in metrics.elts)


def _name(program: Program, metric: ast.expr) -> str | None:
    """Return the name of the scores of a metric; None if it is not known."""
    package, name = program.meaning(metric)
    if isinstance(metric, ast.Name) and not package:
        metric = program.resolved(metric) or metric
    if package == "ragas" and name in INSTANCES:
        return METRIC_CLASSES[INSTANCES[name]].result
    if not isinstance(metric, ast.Call) or is_open(metric):
        return None
    package, name = program.meaning(metric.func)
    known = METRIC_CLASSES.get(name) if package == "ragas" else None
    given = argument(metric, "name")
    if given is not None:
        return text_of(given)
    return known.result or None if known is not None and not metric.args else None


def _keys(program: Program, scores: _Scores | None, keys: list[ast.expr]) -> Iterator[Finding]:
    """Yield the keys that are no metric of the evaluation; a table may have other columns."""
    for key in keys if scores is not None else ():
        name = text_of(key)
        if scores is None or name is None or name in program.stored_keys or _is_score(name, scores.names):
            continue
        ran = next((each for each in scores.names if is_typo(name, each)), None) or _of_class(name, scores)
        span = program.span(key)
        is_other = (scores.is_table or scores.is_open) and ran is None
        if is_other or name not in program.text[span.start : span.end]:
            continue
        message = f"the evaluation has no metric `{name}`"
        meant = ran or nearest(name, scores.names)
        yield suggest_literal(program, key, message, meant, preferred=ran is not None)


@lru_cache(maxsize=1)
def _results_by_class() -> Mapping[str, str]:
    """Return the names of the scores of metrics by the names of their classes, in lower case."""
    bounds = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
    return {bounds.sub("_", name).lower(): each.result for name, each in METRIC_CLASSES.items()}


def _of_class(name: str, scores: _Scores) -> str | None:
    """Return the name of the score of a metric that a key names by its class."""
    result = _results_by_class().get(name)
    return result if result in scores.names and not scores.is_open else None


def _is_score(key: str, names: tuple[str, ...]) -> bool:
    """Return whether a key is that of a metric, which may have its mode after its name."""
    return key == "ragas_score" or any(
        key == name or key.startswith((f"{name}(", f"{name}_")) for name in names
    )


def _attribute(program: Program, node: ast.Attribute, name: str) -> Finding:
    """Return the finding for a score that is read like an attribute."""
    span = program.places.attribute_span(node)
    edit = Edit(Span(span.start - 1, span.end), f'["{name}"]')
    fix = Fix(f'Change to `["{name}"]`', (edit,), preferred=True)
    return Finding(span, f"the scores of an evaluation are keys: `[{name!r}]`", (fix,))
