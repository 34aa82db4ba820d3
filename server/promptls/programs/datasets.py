"""Diagnostics for datasets in a program: how they are made, their rows, and the columns that are read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from promptls.datasets.backends import BACKENDS, backend_names
from promptls.datasets.dataset import Dataset
from promptls.lint.fixes.misspellings import near_file
from promptls.lint.rule import Finding, Fix
from promptls.programs.program import Program, change_literal, suggest_literal
from promptls.security.files import is_file
from promptls.syntax.python_places import Function, arguments, parameter_names, text_of
from promptls.text.positions import Span
from promptls.text.suggest import is_close, nearest, odd_keys
from promptls.workspace.python_experiments import DATASET_MAKERS, makes_dataset
from promptls.workspace.python_paths import literal_path
from promptls.workspace.python_scopes import returned_values

_ATTRIBUTES: Final = frozenset({"name", "backend", "data_model"})
"""The attributes of an instance."""
_SYNONYMS: Final[Mapping[str, str]] = dict.fromkeys(
    ("add", "add_row", "add_rows", "append_row", "insert", "push"), "append"
)
"""What other classes call the methods of a dataset."""


def findings_in_datasets(program: Program, experiments: Mapping[str, Function]) -> Iterator[Finding]:
    """Yield the wrong backends, methods, rows and columns of datasets."""
    yield from _appended_rows(program)
    datasets = [call for call in program.calls if makes_dataset(call, program.imports)]
    yield from _read_rows(program, experiments, datasets)
    for call in datasets:
        yield from _backend(program, call)
        yield from _file(program, call)
    for node in program.nodes:
        if isinstance(node, ast.Attribute) and node.attr not in program.stored_attributes:
            yield from _method(program, node)
        elif isinstance(node, ast.Call):
            yield from _append(program, node)
        elif isinstance(node, ast.Await):
            yield from _awaited(program, node.value)


def is_dataset(
    program: Program, node: ast.expr | None, seen: frozenset[ast.expr | None] = frozenset()
) -> bool:
    """Return whether an expression is a dataset, also in variables and from functions of the program.

    `seen` are the expressions that it is the value of.
    """
    match node:
        case ast.Call() if makes_dataset(node, program.imports):
            return True
        case ast.Call(func=ast.Name() as function):
            made = program.function(function)
            if not isinstance(made, ast.FunctionDef) or made.decorator_list:
                return False
            values = returned_values(made)
        case ast.Name():
            values = program.values_of(node)
        case _:
            return False
    return bool(values) and all(each in seen or is_dataset(program, each, seen | {each}) for each in values)


def _method(program: Program, node: ast.Attribute) -> Iterator[Finding]:
    """Yield the method that a dataset does not have, or a misspelled one of the class."""
    if node.attr.startswith("_") or node.attr in _ATTRIBUTES or hasattr(Dataset, node.attr):
        return
    is_class = program.library_name(node.value) == "Dataset"
    if not is_class and not (isinstance(node.value, ast.Name) and is_dataset(program, node.value)):
        return
    known = [each for each in dir(Dataset) if each[0] != "_" and (is_class or each not in DATASET_MAKERS)]
    meant = _SYNONYMS.get(node.attr) or nearest(node.attr, known)
    is_sure = node.attr in _SYNONYMS or is_close(node.attr, meant or "")
    if is_sure or not is_class:
        span, message = program.places.attribute_span(node), f"a dataset has no `{node.attr}`"
        yield Finding.suggest(span, message, meant, preferred=is_sure)


def _append(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the arguments of `append` that are not one row."""
    match call.func:
        case ast.Attribute(value=ast.Name() as owner, attr="append") if is_dataset(program, owner):
            others = [each for each in call.keywords if each.arg not in {"item", None}]
            if len(call.args) > 1 or others:
                place = call.args[1] if len(call.args) > 1 else others[0]
                yield Finding(program.span(place), "`append` takes one row, which is a mapping")
            elif call.args and isinstance(
                program.resolved(call.args[0]), ast.List | ast.ListComp | ast.Tuple | ast.Constant
            ):
                yield Finding(program.span(call.args[0]), "`append` takes one row, which is a mapping")


def _awaited(program: Program, node: ast.expr) -> Iterator[Finding]:
    """Yield a method of a dataset or of results that is awaited, although it returns nothing."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="append" | "save" as method)):
            made = program.resolved(owner)
            is_results = isinstance(made, ast.Await) and ast.unparse(made).partition("(")[0].endswith(".arun")
            if is_results or is_dataset(program, owner):
                yield Finding(program.span(node), f"`{method}` returns nothing to await")


def _arguments(call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the arguments of a call that makes a dataset by their names."""
    is_table = isinstance(call.func, ast.Attribute) and call.func.attr == "from_pandas"
    return arguments(call, ("dataframe", "name", "backend") if is_table else ("name", "backend"))


def _backend(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the wrong backend, name and folder of a dataset."""
    given = _arguments(call)
    backend = given.get("backend")
    if not isinstance(backend, ast.Constant) or not isinstance(backend.value, str):
        return
    local = f"local/{backend.value}"
    # Names of other packages are read from the disk.
    names = backend_names() if backend.value not in BACKENDS else []
    meant = local if local in BACKENDS else nearest(backend.value, names)
    if names and backend.value not in names and meant is not None:
        yield suggest_literal(program, backend, f"there is no backend `{backend.value}`", meant)
    name = given.get("name")
    ending = f".{backend.value.removeprefix('local/')}"
    if isinstance(name, ast.Constant) and str(name.value).endswith(ending) and backend.value in BACKENDS:
        stem = PurePath(str(name.value)).stem
        fix = change_literal(program, name, stem, preferred=str(name.value) == f"{stem}{ending}")
        message = f"the backend adds the folder and `{ending}` to this name"
        yield Finding(program.span(name), message, (fix,), severity="warning")
    has_root = any(keyword.arg in {None, "root_dir"} for keyword in call.keywords)
    if backend.value in BACKENDS and backend.value.startswith("local/") and not has_root:
        yield Finding(program.span(backend), f"the backend `{backend.value}` needs a `root_dir`")


def _loaded_file(program: Program, call: ast.Call) -> Path | None:
    """Return the path of the CSV file that a dataset is loaded from; None if unsure.

    A relative path counts from the program's folder.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
        return None
    given = _arguments(call)
    name, backend, root = (given.get(each) for each in ("name", "backend", "root_dir"))
    folder = None if root is None else literal_path(root, program.scope_of(call), str(program.path))
    match name, backend:
        case ast.Constant(value=str(stem)), ast.Constant(value="local/csv"):
            if folder is not None and stem.isidentifier():
                return program.path.parent / folder / "datasets" / f"{stem}.csv"
    return None


def _file(program: Program, call: ast.Call) -> Iterator[Finding]:
    """Yield the name of a file that is missing, if one with a similar name is there."""
    file = _loaded_file(program, call)
    if file is None or is_file(file):
        return
    near = near_file(file, file.name, (".csv",))
    name = _arguments(call)["name"]
    meant = Path(near).stem if near is not None else ""
    if is_close(file.stem, meant):
        message = f"there is no file `{file.name}`; did you mean `{near}`?"
        fix = change_literal(program, name, meant, preferred=False)
        yield Finding(program.span(name), message, (fix,), severity="warning")


def _read_rows(
    program: Program, experiments: Mapping[str, Function], datasets: Sequence[ast.Call]
) -> Iterator[Finding]:
    """Yield the columns that experiments read, if all rows of the program's only dataset lack them."""
    columns = _columns(program, datasets[0]) if experiments and len(datasets) == 1 else None
    if not columns:
        return
    run = [each for name, each in experiments.items() if "arun" in program.attributes.get(name, ())]
    # A row of a data model has its columns as attributes.
    others = columns if "data_model" in program.text else dir(dict)
    for node in (node for experiment in run for node in _reads_of_row(program, experiment)):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))) if key not in columns:
                yield _unknown_column(program, node.slice, key, columns)
            case ast.Attribute(value=row, attr=key) if key in columns.difference(others):
                span = Span(program.span(row).end, program.span(node).end)
                fix = Fix.change_to(span, f'["{key}"]', preferred=True)
                yield Finding(span, "a row of this program's dataset is a mapping", (fix,))


def _reads_of_row(program: Program, function: Function) -> list[ast.Subscript | ast.Attribute]:
    """Return where a function reads its first parameter, unless it changes that."""
    row, scope = next(iter(parameter_names(function)), ""), program.scope_of(function)
    reads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript | ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == row
        and program.scope_of(node).scope_of(row) is scope
    ]
    is_set = any(isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load) for each in reads)
    return [] if is_set or scope.values.get(row) != [None] else reads


def _columns(program: Program, dataset: ast.Call) -> frozenset[str]:
    """Return the columns of the program's only dataset; nothing if unsure."""
    return (
        _appended_columns(program, dataset)
        or _loaded_columns(program, dataset)
        or _table_columns(program, dataset)
    )


def _unknown_column(program: Program, place: ast.expr, key: str, columns: Iterable[str]) -> Finding:
    message = f"no row of this program's dataset has `{key}`"
    meant = nearest(key, columns)
    return suggest_literal(program, place, message, meant, preferred=False, severity="warning")


def _appended_rows(program: Program) -> Iterator[Finding]:
    """Yield the misspelled keys of literal rows that are appended to a dataset one after the other."""
    made = [
        name for name, values in program.assigned.items() if any(_is_made(program, each) for each in values)
    ]
    groups = [program.appended.get(name, ()) for name in made]
    if made:
        lists = [node.elts for node in program.nodes if isinstance(node, ast.List)]
        groups += [items for items in lists if all(isinstance(each, ast.Dict) for each in items)]
    for group in groups:
        yield from _different_keys(program, [each for each in group if isinstance(each, ast.Dict)])


def _is_made(program: Program, node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and program.library_name(node.func) == "Dataset"


def _different_keys(program: Program, rows: list[ast.Dict]) -> Iterator[Finding]:
    """Yield the keys that only one of several rows has, and that misspell the one that only it lacks."""
    written = [_keys(row, program) or frozenset() for row in rows]
    for index, name, meant in odd_keys(written) if all(written) else ():
        place = next(key for key in rows[index].keys if isinstance(key, ast.Constant) and key.value == name)
        yield suggest_literal(program, place, f"no other row has `{name}`", meant, severity="warning")


def _appended_columns(program: Program, dataset: ast.Call) -> frozenset[str]:
    """Return the keys of all rows that are appended to the only dataset; nothing if unsure."""
    variable = next((name for name, values in program.assigned.items() if dataset in values), "")
    is_filled = any(keyword.arg in {None, "data"} for keyword in dataset.keywords)
    if is_filled or not _is_made(program, dataset):
        return frozenset()
    if program.attributes.get(variable, frozenset()) & {"extend", "from_pandas"}:
        return frozenset()
    return _all_keys(program.appended.get(variable, ()), program) or frozenset()


def _loaded_columns(program: Program, dataset: ast.Call) -> frozenset[str]:
    """Return the columns of the CSV file that the only dataset is loaded from; nothing if unsure."""
    from promptls.datasets.dataset_files import known_columns

    file = _loaded_file(program, dataset)
    known = known_columns(file) if file is not None else None
    return frozenset() if known is None or known.failure else frozenset(known.columns)


def _table_columns(program: Program, dataset: ast.Call) -> frozenset[str]:
    """Return the columns of the literal table that the only dataset is made from; nothing if unsure."""
    if not isinstance(dataset.func, ast.Attribute) or dataset.func.attr != "from_pandas":
        return frozenset()
    table = program.resolved(_arguments(dataset).get("dataframe"))
    match table:
        case ast.Call(func=ast.Attribute(attr="DataFrame"), args=[rows], keywords=[]):
            names = {each.id for each in dataset.args if isinstance(each, ast.Name)}
            if not names & program.extended:
                return frozenset(_row_keys(rows, program) or ())
    return frozenset()


def _row_keys(node: ast.expr, program: Program) -> frozenset[str] | None:
    """Return the keys of all rows of a literal list, also in a variable; None if unsure."""
    rows = program.resolved(node)
    is_extended = isinstance(node, ast.Name) and node.id in program.extended
    if not isinstance(rows, ast.List) or is_extended:
        return None
    return _all_keys(rows.elts, program)


def _all_keys(rows: Sequence[ast.expr], program: Program) -> frozenset[str] | None:
    """Return the keys of all rows; None if unsure."""
    found = [_keys(each, program) for each in rows]
    known = [each for each in found if each is not None]
    return frozenset[str]().union(*known) if len(known) == len(found) else None


def _keys(row: ast.expr, program: Program) -> frozenset[str] | None:
    """Return the literal keys of a mapping, also in a variable or of each item of a list; None if unsure."""
    if isinstance(row, ast.Name):
        match program.binders.get(row.id, ()):
            case [ast.Assign(value=value)] if not isinstance(value, ast.Name):
                return _keys(value, program)
            case [ast.For(target=ast.Name(), iter=ast.Name() | ast.List() as rows)]:
                return _row_keys(rows, program)
        return None
    if not isinstance(row, ast.Dict):
        return None
    keys = frozenset(text for each in row.keys if (text := text_of(each)) is not None)
    return keys if len(keys) == len(row.keys) else None
