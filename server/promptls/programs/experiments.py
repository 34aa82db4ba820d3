"""Diagnostics for experiments in a program: their datasets and rows, their runs, and what they return."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from promptls.datasets.backends import BACKENDS, backend_names
from promptls.lint.rule import Edit, Finding, Fix
from promptls.programs.metric_results import RESULT_FIELDS
from promptls.programs.program import (
    Function,
    Program,
    argument,
    binds,
    change_literal,
    is_open,
    own_nodes,
    parameters_of,
    required_parameters,
    unknown_argument,
)
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import nearest

_MIN_ROWS: Final = 3
"""How many rows are compared with one another."""
_RUN_ARGUMENTS: Final = frozenset({"dataset", "name", "backend", "concurrency", "timeout", "progress"})


def experiments_of(program: Program) -> dict[str, Function]:
    """Return the functions at the top level of a program that are experiments, by their names."""
    own = program.own_functions
    return {node.name: node for node in own if program.decorator(node, ("experiment",)) is not None}


def findings_in_experiments(program: Program, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield the wrong uses of datasets, and the wrong rows, runs and results of experiments."""
    yield from _appended_rows(program)
    yield from _read_rows(program, experiments)
    for call in program.calls:
        yield from _backend(program, call)
        yield from _run(program, call, experiments)
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            yield from _unawaited(program, call.args, experiments)
    for node in program.nodes:
        if isinstance(node, ast.Expr):
            yield from _unawaited(program, [node.value], experiments)
    for experiment in experiments.values():
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


# -- datasets and rows ----------------------------------------------------------------


def _backend(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the wrong backend, name and folder of a dataset."""
    made = call.func
    if isinstance(made, ast.Attribute) and made.attr in {"load", "stream"}:
        made = made.value
    if program.library_name(made) != "Dataset":
        return
    backend = argument(call, "backend") or next(iter(call.args[1:2]), None)
    if not isinstance(backend, ast.Constant) or not isinstance(backend.value, str):
        return
    names = backend_names()
    local = f"local/{backend.value}"
    meant = local if local in names else nearest(backend.value, names)
    if backend.value not in names and meant is not None:
        message = f"there is no backend `{backend.value}`; did you mean `{meant}`?"
        yield Finding(program.span(backend), message, (change_literal(program, backend, meant),))
    name = argument(call, "name") or next(iter(call.args[:1]), None)
    ending = f".{backend.value.removeprefix('local/')}"
    if isinstance(name, ast.Constant) and str(name.value).endswith(ending) and backend.value in BACKENDS:
        end = program.span(name).end - 1
        fix = Fix(f"Remove `{ending}`", (Edit(Span(end - len(ending), end), ""),), preferred=True)
        message = f"the backend adds `{ending}` to this name"
        yield Finding(program.span(name), message, (fix,), severity="warning")
    has_root = any(keyword.arg in {None, "root_dir"} for keyword in call.keywords)
    if backend.value in BACKENDS and backend.value.startswith("local/") and not has_root:
        yield Finding(program.span(backend), f"the backend `{backend.value}` needs a `root_dir`")


def _read_rows(program: Program, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield the columns that experiments read, if all rows of the program's only dataset lack them."""
    columns = (_appended_columns(program) or _loaded_columns(program)) if experiments else None
    if not columns:
        return
    run = {
        node.value.id
        for node in program.nodes
        if isinstance(node, ast.Attribute) and node.attr == "arun" and isinstance(node.value, ast.Name)
    }
    has_model = "data_model" in program.text
    for name in experiments.keys() & run:
        function = experiments[name]
        arguments = [*function.args.posonlyargs, *function.args.args]
        row = arguments[0].arg if arguments else ""
        if any(_changes(node, row) for each in function.body for node in ast.walk(each)):
            continue
        for node in (node for each in function.body for node in ast.walk(each)):
            match node:
                case ast.Subscript(value=ast.Name(id=read), slice=ast.Constant(value=str() as key)) if (
                    read == row
                ):
                    if key not in columns:
                        yield _unknown_column(program, node.slice, key, columns)
                case ast.Attribute(value=ast.Name(id=read), attr=key) if (
                    read == row and key in columns and not hasattr(dict, key) and not has_model
                ):
                    span = Span(program.span(node.value).end, program.span(node).end)
                    fix = Fix.change_to(span, f'["{key}"]', preferred=True)
                    yield Finding(span, "a row of this program's dataset is a mapping", (fix,))


def _unknown_column(program: Program, place: ast.expr, key: str, columns: Iterable[str]) -> Finding:
    message = f"no row of this program's dataset has `{key}`"
    meant = nearest(key, columns)
    if meant is None:
        return Finding(program.span(place), message, severity="warning")
    fix = change_literal(program, place, meant, preferred=False)
    return Finding(program.span(place), f"{message}; did you mean `{meant}`?", (fix,), severity="warning")


def _appended_rows(program: Program) -> Iterator[Finding]:
    """Yield the misspelled keys of literal rows that are appended to a dataset one after the other."""
    made = {
        node.targets[0].id
        for node in program.nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and program.library_name(node.value.func) == "Dataset"
    }
    rows: dict[str, list[ast.Dict]] = {}
    for node in program.nodes if made else ():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[ast.Dict() as row]
            ):
                if owner in made:
                    rows.setdefault(owner, []).append(row)
            case ast.List(elts=items) if all(isinstance(each, ast.Dict) for each in items):
                rows[f"the list {len(rows)}"] = [each for each in items if isinstance(each, ast.Dict)]
    for group in rows.values():
        yield from _different_keys(program, group)


def _different_keys(program: Program, rows: list[ast.Dict]) -> Iterator[Finding]:
    """Yield the keys that only one of several rows has, and that misspell the one that only it lacks."""
    written = [_keys(row, []) or set() for row in rows]
    if len(rows) < _MIN_ROWS or not all(written):
        return
    times = Counter(key for keys in written for key in keys)
    lacked = {key for key, count in times.items() if count == len(rows) - 1}
    for row, keys in zip(rows, written, strict=True):
        for place in row.keys:
            key = place.value if isinstance(place, ast.Constant) else None
            if not isinstance(key, str) or place is None or times[key] != 1:
                continue
            meant = nearest(key, lacked - keys)
            if meant is not None:
                message = f"no other row has `{key}`; did you mean `{meant}`?"
                fix = change_literal(program, place, meant)
                yield Finding(program.span(place), message, (fix,), severity="warning")


def _changes(node: ast.AST, name: str) -> bool:
    """Return whether a node binds a variable or parameter, or sets an item of it."""
    is_item = (
        isinstance(node, ast.Subscript)
        and ast.unparse(node.value) == name
        and not isinstance(node.ctx, ast.Load)
    )
    return is_item or binds(node, name)


def _appended_columns(program: Program) -> frozenset[str]:
    """Return the keys of all rows that are appended to the only dataset of a program; nothing if unsure."""
    nodes = program.nodes
    mentioned = _datasets(program)
    made = [
        (node.targets[0].id, node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.value in mentioned
    ]
    if len(mentioned) != 1 or len(made) != 1 or program.library_name(mentioned[0].func) != "Dataset":
        return frozenset()
    if any(keyword.arg in {None, "data"} for keyword in mentioned[0].keywords):
        return frozenset()
    variable = made[0][0]
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr="extend" | "from_pandas") if owner == variable:
                return frozenset()
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[row]) if (
                owner == variable
            ):
                keys = _keys(row, nodes)
                if keys is None:
                    return frozenset()
                found |= keys
    return frozenset(found)


def _loaded_columns(program: Program) -> frozenset[str]:
    """Return the columns of the CSV file that the only dataset is loaded from; nothing if unsure.

    The file is looked up below the program's folder.
    """
    from promptls.datasets.dataset_files import known_columns

    mentioned = _datasets(program)
    call = mentioned[0] if len(mentioned) == 1 else None
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
        return frozenset()
    placed = dict(zip(("name", "backend"), call.args, strict=False))
    given = {**placed, **{each.arg: each.value for each in call.keywords if each.arg}}
    texts = [given.get(each) for each in ("name", "backend", "root_dir")]
    name, backend, root = (each.value if isinstance(each, ast.Constant) else None for each in texts)
    if (
        not isinstance(name, str)
        or not name.isidentifier()
        or backend != "local/csv"
        or not isinstance(root, str)
    ):
        return frozenset()
    known = known_columns(program.path.parent / root / "datasets" / f"{name}.csv")
    return frozenset() if known.failure else frozenset(known.columns)


def _datasets(program: Program) -> list[ast.Call]:
    """Return the calls of `Dataset`, `Dataset.load` and the like."""
    found = []
    for call in program.calls:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if "Dataset" in {program.library_name(call.func), program.library_name(owner)}:
            found.append(call)
    return found


def _keys(row: ast.expr, nodes: Iterable[ast.AST]) -> set[str] | None:
    """Return the literal keys of a mapping, or of the one that a variable is bound to; None if unsure."""
    if isinstance(row, ast.Name):
        bound = [
            node.value if isinstance(node, ast.Assign) else None
            for node in nodes
            if (isinstance(node, ast.Assign) and any(_changes(each, row.id) for each in node.targets))
            or (
                isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and _changes(node.target, row.id)
            )
        ]
        if len(bound) != 1 or bound[0] is None or isinstance(bound[0], ast.Name):
            return None
        return _keys(bound[0], nodes)
    if not isinstance(row, ast.Dict):
        return None
    keys = {each.value for each in row.keys if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return keys if len(keys) == len(row.keys) else None
