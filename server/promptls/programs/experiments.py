"""Diagnostics for experiments in a program: their runs, and what they return."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.datasets import is_dataset
from promptls.programs.metric_results import RESULT_FIELDS
from promptls.programs.program import (
    Function,
    Program,
    imported_programs,
    is_open,
    own_nodes,
    parameters_of,
    required_parameters,
    unknown_argument,
)
from promptls.text.format import in_code
from promptls.text.positions import Span

_RUN_ARGUMENTS: Final = frozenset({"dataset", "name", "backend", "concurrency", "timeout", "progress"})


def experiments_of(program: Program) -> dict[str, Function]:
    """Return the functions at the top level of a program that are experiments, by their names."""
    own = program.own_functions
    return {node.name: node for node in own if program.decorator(node, ("experiment",)) is not None}


def findings_in_experiments(program: Program, own: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield the wrong runs and results of a program's `own` experiments, and the runs of imported ones."""
    experiments = {**own}
    for other, names in imported_programs(program):
        found = experiments_of(other)
        experiments |= {name: found[there] for name, there in names.items() if there in found}
    for call in program.calls:
        yield from _run(program, call, experiments)
        yield from _called(program, call, experiments)
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            yield from _unawaited(program, call.args, experiments)
    for node in program.nodes:
        if isinstance(node, ast.Expr):
            yield from _unawaited(program, [node.value], experiments)
    for experiment in own.values():
        yield from _returns(program, experiment)


# -- runs -----------------------------------------------------------------------------


def _run(program: Program, call: ast.Call, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    experiment = _run_experiment(program, call, experiments)
    if experiment is None or experiment.args.kwarg:
        return
    parameters = parameters_of(experiment)[1:]
    given = {keyword.arg for keyword in call.keywords}
    unknown = [each for each in call.keywords if each.arg not in {None, *parameters, *_RUN_ARGUMENTS}]
    for keyword in unknown:
        message = f"the experiment `{experiment.name}` has no parameter `{keyword.arg}`"
        yield unknown_argument(program, keyword, message, parameters)
    if unknown or is_open(call):
        return
    # The first arguments are the dataset, the name of the results and their backend.
    given |= {*parameters[: max(len(call.args) - 3, 0)]}
    missing = [each for each in required_parameters(experiment)[1:] if each not in given]
    if missing:
        yield Finding(program.span(call.func), f"`{experiment.name}` needs {in_code(missing)}")


def _called(program: Program, call: ast.Call, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield the wrong method of an experiment, and the wrong object in place of the row or the dataset."""
    match call:
        case ast.Call(func=ast.Name(id=name) as function, args=[first, *_]) if (
            name in experiments and program.definitions.get(name, 1) == 1 and is_dataset(program, first)
        ):
            end = program.span(function).end
            fix = Fix("Insert `.arun`", (Edit(Span(end, end), ".arun"),), preferred=True)
            message = f"`{name}` scores one row; `{name}.arun` runs it with all rows of a dataset"
            yield Finding(program.span(function), message, (fix,))
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="run" | "run_async" | "evaluate" as method)
        ):
            is_known = name in experiments and program.definitions.get(name, 1) == 1
            if is_known and not program.bindings[name]:
                end = program.span(call.func).end
                span = Span(end - len(method), end)
                message = f"the experiment `{name}` has no `{method}`"
                yield Finding.suggest(span, message, "arun", preferred=True)
        case ast.Call(args=[ast.Name(id=name) as given, *_]) if _run_experiment(program, call, experiments):
            made = ast.Call(given, [], [])
            if is_dataset(program, made):
                end = program.span(given).end
                fix = Fix("Insert `()`", (Edit(Span(end, end), "()"),), preferred=True)
                yield Finding(program.span(given), f"`{name}` is a function, and no dataset", (fix,))


def _run_experiment(program: Program, node: ast.expr, experiments: Mapping[str, Function]) -> Function | None:
    """Return the experiment whose `arun` an expression calls, if the program defines its name once."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="arun")):
            return experiments.get(name) if program.definitions.get(name, 1) == 1 else None
    return None


def _unawaited(
    program: Program, nodes: Iterable[ast.expr], experiments: Mapping[str, Function]
) -> Iterator[Finding]:
    for node in nodes:
        if isinstance(node, ast.Call) and _run_experiment(program, node, experiments) is not None:
            message = "nothing runs: `arun` returns a coroutine for `await` or `asyncio.run`"
            yield Finding(program.span(node.func), message)


def _returns(program: Program, experiment: Function) -> Iterator[Finding]:
    """Yield what an experiment returns in place of a mapping."""
    nodes = [*own_nodes(experiment)]
    if not parameters_of(experiment) and not experiment.args.vararg:
        message = f"the experiment `{experiment.name}` takes a row as its first argument"
        yield Finding(program.places.name_span(experiment), message)
    if not any(isinstance(each, ast.Return | ast.Yield | ast.Raise) for each in nodes):
        message = f"the experiment `{experiment.name}` returns nothing: every row is an error"
        yield Finding(program.places.name_span(experiment), message)
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None and _is_scalar(node.value):
            message = f"the experiment `{experiment.name}` returns a mapping: other results are dropped"
            yield Finding(program.span(node.value), message)


def _is_scalar(node: ast.expr) -> bool:
    """Return whether an expression is a text, a number, a truth value or the value of a metric's result."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    is_value = isinstance(node, ast.Attribute) and node.attr in RESULT_FIELDS
    return is_value or isinstance(node, ast.JoinedStr | ast.Compare)
