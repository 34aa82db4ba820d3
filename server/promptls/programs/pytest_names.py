"""Diagnostics for the names of experiments and metrics in tests that use the fixture of the pytest plugin."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from promptls.lint.analysis.declared_experiments import NameProblem, wrong_thresholds
from promptls.lint.rule import Edit, Finding, Fix
from promptls.lint.rules.experiments.unknown_metric import RULE
from promptls.lint.runner import severity_of
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey
from promptls.syntax.python_places import PythonPlaces, parse_python
from promptls.workspace.snapshot import Snapshot

_FIXTURE: Final = "promptls"
_MAX_FOLDERS: Final = 4
"""How many folders around a test are searched for a prompt file, the nearest first."""


def findings_in_tests(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...]:
    """Return the diagnostics of the test file at `path`, with rule and severity, in text order."""
    severity = severity_of(RULE, snapshot.project(path).settings)
    if severity is None or f"{_FIXTURE}.run(" not in text:
        return ()
    tree = parse_python(text)
    if tree is None:
        return ()
    places = PythonPlaces(text)
    found = [
        finding.of(RULE.name, severity)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(each.arg == _FIXTURE for each in function.args.args)
        for finding in _in_function(snapshot, path, function, places)
    ]
    return tuple(sorted(found, key=lambda finding: finding.span))


def _in_function(
    snapshot: Snapshot, path: str, function: ast.FunctionDef | ast.AsyncFunctionDef, places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the experiments that a prompt does not have, and the metrics that their runs do not have."""
    runs: dict[str, tuple[str, ExperimentKey] | None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="promptls"), attr="run"),
                args=[_, ast.Constant(value=str(name)) as place, *_],
            ):
                known = _experiments(snapshot, path, node)
                if known is not None and name not in known[1]:
                    problem = NameProblem.near(f"the prompt has no experiment `{name}`", name, known[1])
                    if problem.meant is not None:  # else, it may be a function of a program
                        yield _finding(problem, place, places)
            case ast.Assign(targets=[ast.Name(id=variable)], value=value):
                runs[variable] = None if variable in runs else _run(snapshot, path, value)
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
                    yield _finding(wrong, place, places)


def _run(snapshot: Snapshot, path: str, node: ast.expr) -> tuple[str, ExperimentKey] | None:
    """Return the prompt and the experiment that a call of the fixture runs; None for others."""
    known = _experiments(snapshot, path, node)
    if known is None or not isinstance(node, ast.Call):
        return None
    prompt, experiments = known
    given = {each.arg: each.value for each in node.keywords}
    named = node.args[1] if len(node.args) > 1 else given.get("experiment")
    name = named.value if isinstance(named, ast.Constant) else None
    if named is None and None not in given:
        name = next(iter(experiments))
    declared = experiments.get(name) if isinstance(name, str) else None
    return None if declared is None else (prompt, declared)


def _experiments(
    snapshot: Snapshot, path: str, node: ast.expr
) -> tuple[str, Mapping[str, ExperimentKey | None]] | None:
    """Return the prompt that a call of the fixture names, and its experiments; None if it has none.

    Of those of the project, only the names are returned.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="promptls"), attr="run"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            around = islice(Path(path).parents, _MAX_FOLDERS)
            for prompt in (str(folder / name) for folder in around):
                template: Template | None = snapshot.template(prompt)
                if template is not None:
                    own = template.declarations.settings.experiments or {}
                    of_project = snapshot.project(prompt).settings.experiments
                    found = {**own, **{each: None for each in of_project if each not in own}}
                    return (prompt, found) if own else None
    return None


def _finding(problem: NameProblem, node: ast.expr, places: PythonPlaces) -> Finding:
    span, meant = places.span(node), problem.meant
    fixes = (Fix(f"Change to `{meant}`", (Edit(span, f'"{meant}"'),), preferred=True),) if meant else ()
    return Finding(span, problem.text, fixes)
