"""Diagnostics for the examples of Ragas' prompt classes, and for the rows that experiments read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from promptls.lint.rule import Edit, Finding, Fix
from promptls.syntax.python_places import PythonPlaces
from promptls.text.suggest import nearest

Meaning = Callable[[ast.expr], tuple[str, str]]
"""Returns the package and the name that an expression refers to."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
_PROMPT_CLASSES: Final = frozenset({"FewShotPydanticPrompt", "ImageTextPrompt", "PydanticPrompt"})
_MIN_ROWS: Final = 3
"""How many rows are compared with one another."""
_OPTIONAL: Final = ("Optional", "None")


class _Model(NamedTuple):
    """A class of values with fields: all of them, and those without a default."""

    fields: tuple[str, ...]
    required: tuple[str, ...]


def findings_in_prompt_classes(tree: ast.Module, places: PythonPlaces, meaning: Meaning) -> Iterator[Finding]:
    """Yield the wrong fields in examples of prompt classes, and examples with input and output swapped."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    models = dict(_models(tree, classes))
    for node in classes:
        base = next((each for each in node.bases if isinstance(each, ast.Subscript)), None)
        if base is None or meaning(base.value)[1] not in _PROMPT_CLASSES:
            continue
        for examples in _examples(node):
            for call in (each for each in ast.walk(examples) if isinstance(each, ast.Call)):
                if isinstance(call.func, ast.Name) and call.func.id in models:
                    yield from _fields(call, models[call.func.id], places)
            yield from _swapped(examples, base.slice, places)


def _models(tree: ast.Module, classes: list[ast.ClassDef]) -> Iterator[tuple[str, _Model]]:
    """Yield the subclasses of pydantic's `BaseModel` that only declare fields, without aliases."""
    bases = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and "pydantic" in (node.module or "")
        for alias in node.names
        if alias.name == "BaseModel"
    }
    for node in classes:
        if len(node.bases) != 1 or not isinstance(node.bases[0], ast.Name) or node.bases[0].id not in bases:
            continue
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        others = [each for each in node.body if not isinstance(each, ast.AnnAssign | ast.Expr)]
        if others or node.keywords or "alias" in ast.unparse(node):
            continue
        named = [(each.target.id, each) for each in fields if isinstance(each.target, ast.Name)]
        required = tuple(name for name, each in named if _is_required(each))
        yield node.name, _Model(tuple(name for name, _ in named), required)


def _is_required(field: ast.AnnAssign) -> bool:
    if any(mark in ast.unparse(field.annotation) for mark in _OPTIONAL):
        return False
    if field.value is None:
        return True
    if not isinstance(field.value, ast.Call) or ast.unparse(field.value.func) not in {
        "Field",
        "pydantic.Field",
    }:
        return False
    has_default = any(keyword.arg in {None, "default", "default_factory"} for keyword in field.value.keywords)
    first = next(iter(field.value.args), ast.Constant(...))
    return not has_default and isinstance(first, ast.Constant) and first.value is ...


def _examples(node: ast.ClassDef) -> Iterator[ast.List]:
    for each in node.body:
        value = each.value if isinstance(each, ast.Assign | ast.AnnAssign) else None
        target = each.targets[0] if isinstance(each, ast.Assign) else getattr(each, "target", None)
        if isinstance(value, ast.List) and isinstance(target, ast.Name) and target.id == "examples":
            yield value


def _fields(call: ast.Call, model: _Model, places: PythonPlaces) -> Iterator[Finding]:
    """Yield the fields that an example misspells or lacks, so that the class cannot be made."""
    given = [keyword.arg for keyword in call.keywords]
    if call.args or None in given:
        return
    name = ast.unparse(call.func)
    missing = [each for each in model.required if each not in given]
    for keyword in call.keywords if missing else ():
        meant = nearest(keyword.arg or "", missing) if keyword.arg not in model.fields else None
        if meant is not None:
            missing.remove(meant)
            message = f"`{name}` has no field `{keyword.arg}`"
            yield Finding.suggest(places.span(keyword), message, meant, preferred=True)
    if missing:
        names = ", ".join(f"`{each}`" for each in missing)
        yield Finding(places.span(call.func), f"this example lacks {names}")


def _swapped(examples: ast.List, types: ast.expr, places: PythonPlaces) -> Iterator[Finding]:
    """Yield the examples with the output before the input."""
    names = [ast.unparse(each) for each in types.elts] if isinstance(types, ast.Tuple) else []
    if len(names) != len({*names}) or not names:
        return
    for example in examples.elts:
        values = example.elts if isinstance(example, ast.Tuple) else []
        made = [ast.unparse(each.func) for each in values if isinstance(each, ast.Call)]
        if len(made) == len(values) == len(names) and made == names[::-1]:
            message = f"an example is a pair of input and output: `{names[0]}` comes first"
            yield Finding(places.span(example), message)


def findings_in_rows(
    tree: ast.Module,
    places: PythonPlaces,
    meaning: Meaning,
    experiments: Mapping[str, Function],
    folder: Path | None,
) -> Iterator[Finding]:
    """Yield the columns that experiments read, if all rows of the program's only dataset lack them.

    A dataset that is loaded by its name is looked up below the program's `folder`.
    """
    columns = (_columns(tree, meaning) or _loaded_columns(tree, meaning, folder)) if experiments else None
    if not columns:
        return
    run = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "arun" and isinstance(node.value, ast.Name)
    }
    for name in experiments.keys() & run:
        function = experiments[name]
        arguments = [*function.args.posonlyargs, *function.args.args]
        row = arguments[0].arg if arguments else ""
        if any(_binds(node, row) for each in function.body for node in ast.walk(each)):
            continue
        for node in (node for each in function.body for node in ast.walk(each)):
            match node:
                case ast.Subscript(value=ast.Name(id=read), slice=ast.Constant(value=str() as key)) if (
                    read == row
                ):
                    if key not in columns:
                        yield _unknown_column(node, key, columns, places)


def findings_in_appended_rows(tree: ast.Module, places: PythonPlaces, meaning: Meaning) -> Iterator[Finding]:
    """Yield the misspelled keys of literal rows that are appended to a dataset one after the other."""
    made = {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and meaning(node.value.func)[1] == "Dataset"
    }
    rows: dict[str, list[ast.Dict]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[ast.Dict() as row]
            ):
                if owner in made:
                    rows.setdefault(owner, []).append(row)
            case ast.List(elts=items) if made and all(isinstance(each, ast.Dict) for each in items):
                rows[f"the list {len(rows)}"] = [each for each in items if isinstance(each, ast.Dict)]
    for group in rows.values():
        yield from _different_keys(group, places)


def _different_keys(rows: list[ast.Dict], places: PythonPlaces) -> Iterator[Finding]:
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
                span = places.span(place)
                fix = Fix(f"Change to `{meant}`", (Edit(span, f'"{meant}"'),), preferred=True)
                message = f"no other row has `{key}`; did you mean `{meant}`?"
                yield Finding(span, message, (fix,), severity="warning")


def _unknown_column(node: ast.Subscript, key: str, columns: Iterable[str], places: PythonPlaces) -> Finding:
    span = places.span(node.slice)
    message = f"no row of this program's dataset has `{key}`"
    meant = nearest(key, columns)
    if meant is None:
        return Finding(span, message, severity="warning")
    fix = Fix(f"Change to `{meant}`", (Edit(span, f'"{meant}"'),))
    return Finding(span, f"{message}; did you mean `{meant}`?", (fix,), severity="warning")


def _binds(node: ast.AST, name: str) -> bool:
    is_name = isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    is_item = (
        isinstance(node, ast.Subscript)
        and ast.unparse(node.value) == name
        and not isinstance(node.ctx, ast.Load)
    )
    return is_name or is_item or (isinstance(node, ast.arg) and node.arg == name)


def _columns(tree: ast.Module, meaning: Meaning) -> frozenset[str]:
    """Return the keys of all rows that are appended to the only dataset of a program; nothing if unsure."""
    nodes = list(ast.walk(tree))
    mentioned = [
        node for node in nodes if isinstance(node, ast.Call) and "Dataset" in _parts(node.func, meaning)
    ]
    made = [
        (node.targets[0].id, node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.value in mentioned
    ]
    if len(mentioned) != 1 or len(made) != 1 or meaning(mentioned[0].func)[1] != "Dataset":
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


def _loaded_columns(tree: ast.Module, meaning: Meaning, folder: Path | None) -> frozenset[str]:
    """Return the columns of the CSV file that the only dataset is loaded from; nothing if unsure."""
    from promptls.datasets.dataset_files import known_columns

    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    mentioned = [node for node in calls if "Dataset" in _parts(node.func, meaning)]
    call = mentioned[0] if len(mentioned) == 1 else None
    if folder is None or call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
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
    known = known_columns(folder / root / "datasets" / f"{name}.csv")
    return frozenset() if known.failure else frozenset(known.columns)


def _parts(node: ast.expr, meaning: Meaning) -> set[str]:
    """Return what an expression such as `Dataset.load` refers to."""
    inner = node.value if isinstance(node, ast.Attribute) else node
    return {meaning(node)[1], meaning(inner)[1]}


def _keys(row: ast.expr, nodes: list[ast.AST]) -> set[str] | None:
    """Return the literal keys of a mapping, or of the one that a variable is bound to; None if unsure."""
    if isinstance(row, ast.Name):
        bound = [
            node.value if isinstance(node, ast.Assign) else None
            for node in nodes
            if (isinstance(node, ast.Assign) and any(_binds(each, row.id) for each in node.targets))
            or (isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and _binds(node.target, row.id))
        ]
        if len(bound) != 1 or bound[0] is None or isinstance(bound[0], ast.Name):
            return None
        return _keys(bound[0], nodes)
    if not isinstance(row, ast.Dict):
        return None
    keys = {each.value for each in row.keys if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return keys if len(keys) == len(row.keys) else None
