"""Diagnostics for experiments in a program: their runs, what they return, and their names in tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from promptls.lint.analysis.declared_experiments import NameProblem, wrong_thresholds
from promptls.lint.rule import Finding, Fix
from promptls.lint.rules.experiments.models_and_metrics import unknown_metric
from promptls.lint.runner import severity_of
from promptls.programs.datasets import is_dataset
from promptls.programs.program import (
    Program,
    imported_objects,
    is_open,
    name_finding,
    parse_program,
    returns_nothing,
    unknown_argument,
)
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.syntax.python_places import Function, arguments, parameter_names, required_parameters, text_of
from promptls.text.format import in_code
from promptls.workspace.python_experiments import RESULT_FIELDS
from promptls.workspace.python_scopes import own_nodes
from promptls.workspace.snapshot import Snapshot

_FIXTURE: Final = "promptls"


def findings_in_tests(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...]:
    """Return the diagnostics of the test file at `path`, with rule and severity, in text order."""
    severity = severity_of(unknown_metric, snapshot.project(path).settings)
    program = parse_program(text, Path(path)) if severity is not None and f"{_FIXTURE}.run(" in text else None
    if program is None or severity is None:
        return ()
    found = [
        finding.of(unknown_metric.name, severity)
        for function in program.functions
        if any(each.arg == _FIXTURE for each in function.args.args)
        for finding in _in_function(snapshot, program, function)
    ]
    return tuple(sorted(found, key=lambda finding: finding.span))


def _in_function(snapshot: Snapshot, program: Program, function: Function) -> Iterator[Finding]:
    """Yield the experiments that a prompt does not have, and the metrics that their runs do not have."""
    runs: dict[str, tuple[str, ExperimentKey] | None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Call(args=[_, ast.Constant(value=str(name)) as place, *_]):
                _, experiments = _experiments(snapshot, program, node)
                if experiments and name not in experiments:
                    problem = NameProblem.near(f"the prompt has no experiment `{name}`", name, experiments)
                    if problem.meant is not None:  # else, it may be a function of a program
                        yield name_finding(program, place, problem)
            case ast.Assign(targets=[ast.Name(id=variable)], value=value):
                runs[variable] = None if variable in runs else _requested_run(snapshot, program, value)
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=variable), attr="check" | "score"),
                args=[ast.Constant(value=str(name)) as place, *bounds],
            ):
                run = runs.get(variable)
                bound = bounds[0].value if bounds and isinstance(bounds[0], ast.Constant) else 0
                if run is None or not isinstance(bound, int | float):
                    continue
                prompt, declared = run
                template = snapshot.template(prompt)
                named = snapshot.project(prompt).settings.metrics
                own = template.declarations.settings.metrics if template is not None else None
                checked = declared.model_copy(update={"thresholds": {name: bound}})
                for _, wrong in wrong_thresholds(checked, Path(prompt).parent, {**named, **(own or {})}):
                    yield name_finding(program, place, wrong)


def _requested_run(snapshot: Snapshot, program: Program, node: ast.expr) -> tuple[str, ExperimentKey] | None:
    """Return the prompt and the experiment that a call of the fixture runs; None for others."""
    prompt, experiments = _experiments(snapshot, program, node)
    if not experiments or not isinstance(node, ast.Call):
        return None
    named = arguments(node, ("prompt", "experiment")).get("experiment")
    name = text_of(named)
    if named is None and not is_open(node):
        name = next(iter(experiments))
    declared = experiments.get(name or "")
    return None if declared is None else (prompt, declared)


def _experiments(
    snapshot: Snapshot, program: Program, node: ast.expr
) -> tuple[str, Mapping[str, ExperimentKey | None]]:
    """Return the prompt that a call of the fixture names, and its experiments; nothing if it has none.

    Of those of the project, only the names are returned.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="promptls"), attr="run"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            for prompt in (str(folder / name) for folder in program.folders):
                template: Template | None = snapshot.template(prompt)
                if template is not None:
                    own = template.declarations.settings.experiments
                    of_project = snapshot.project(prompt).settings.experiments
                    found = {**own, **{each: None for each in of_project if each not in own}}
                    return (prompt, found) if own else ("", {})
    return "", {}


_RUN_ARGUMENTS: Final = frozenset({"dataset", "name", "backend", "concurrency", "timeout", "progress"})


def experiments_of(program: Program) -> dict[str, Function]:
    """Return the functions at the top level of a program that are experiments, by their names."""
    own = program.own_functions
    return {node.name: node for node in own if program.imports.decorator(node, ("experiment",)) is not None}


def known_experiments(program: Program, own: Mapping[str, Function]) -> dict[str, Function]:
    """Return the `own` experiments of a program, and imported ones, whose names it binds once."""
    known = {**imported_objects(program, experiments_of), **own}
    return {name: each for name, each in known.items() if len(program.assigned[name]) == 1}


def findings_in_experiments(
    program: Program, own: Mapping[str, Function], experiments: Mapping[str, Function]
) -> Iterator[Finding]:
    """Yield the wrong runs of experiments, and the wrong results of a program's `own` ones."""
    for call in program.calls:
        yield from _run(program, call, experiments)
        yield from _called(program, call, experiments)
    for experiment in own.values():
        yield from _returns(program, experiment)


# -- runs -----------------------------------------------------------------------------


def _run(program: Program, call: ast.Call, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    experiment = _run_experiment(call, experiments)
    if experiment is None or experiment.args.kwarg:
        return
    parameters = parameter_names(experiment)[1:]
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
            name in experiments and is_dataset(program, first)
        ):
            fix = Fix.insert(program.span(function).end, ".arun")
            message = f"`{name}` scores one row; `{name}.arun` runs it with all rows of a dataset"
            yield Finding(program.span(function), message, (fix,))
        case ast.Call(
            func=ast.Attribute(
                value=ast.Name(id=name), attr="run" | "run_async" | "evaluate" as method
            ) as function
        ):
            if name in experiments:
                message = f"the experiment `{name}` has no `{method}`"
                yield Finding.suggest(
                    program.places.attribute_span(function), message, "arun", preferred=True
                )
        case ast.Call(args=[], func=ast.Attribute() as run) if _run_experiment(call, experiments):
            if not {"dataset", None} & {keyword.arg for keyword in call.keywords}:
                yield Finding(program.span(run), f"`{ast.unparse(run)}` needs the `dataset`")
        case ast.Call(args=[ast.Name(id=name) as given, *_]) if _run_experiment(call, experiments):
            made = ast.Call(given, [], [])
            if is_dataset(program, made):
                fix = Fix.insert(program.span(given).end, "()")
                yield Finding(program.span(given), f"`{name}` is a function, and no dataset", (fix,))


def _run_experiment(node: ast.expr, experiments: Mapping[str, Function]) -> Function | None:
    """Return the experiment whose `arun` an expression calls."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="arun")):
            return experiments.get(name)
    return None


def _returns(program: Program, experiment: Function) -> Iterator[Finding]:
    """Yield what an experiment returns in place of a mapping."""
    nodes = [*own_nodes(experiment)]
    if not parameter_names(experiment) and not experiment.args.vararg:
        message = f"the experiment `{experiment.name}` takes a row as its first argument"
        yield Finding(program.places.name_span(experiment), message)
    if returns_nothing(experiment):
        message = f"the experiment `{experiment.name}` returns nothing: every row is an error"
        yield Finding(program.places.name_span(experiment), message)
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None and _is_no_mapping(node.value):
            message = f"the experiment `{experiment.name}` returns a mapping: other results are dropped"
            yield Finding(program.span(node.value), message)


def _is_no_mapping(node: ast.expr) -> bool:
    """Return whether an expression is a text, number, boolean or list, or a metric's value."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    is_value = isinstance(node, ast.Attribute) and node.attr in RESULT_FIELDS
    return is_value or isinstance(node, ast.JoinedStr | ast.Compare | ast.List | ast.ListComp)
