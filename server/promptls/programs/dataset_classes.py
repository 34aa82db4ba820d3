"""Keys of a configuration's datasets that do not fit `load` of their class in a checkout of OpenCompass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from promptls.convert.python_interpreter import Files, module_text
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import Finding
from promptls.programs.configuration_tree import ConfigurationTree, is_mapping, values_of
from promptls.syntax.python_places import (
    Function,
    PythonPlaces,
    parameter_names,
    parse_python,
    required_parameters,
)

_DATASETS: Final = "opencompass.datasets"
_BASE: Final = "BaseDataset"
_BUILDING: Final = "opencompass.utils.build"
_BUILDER: Final = "build_dataset_from_cfg"
_TAKEN: Final = frozenset({"type", "abbr", "infer_cfg", "eval_cfg"})
"""The keys of a dataset that are not arguments of its class."""
_SPLITS: Final[Mapping[str, str]] = {"train_split": "train", "test_split": "test"}
"""The keys of a reader that name splits, with their defaults."""
_OF_ONE_TABLE: Final = frozenset({"train", "test"})
"""The splits of a dataset whose class returns a single table."""
_UNKNOWN_SPLITS: Final = (
    *("load_dataset(", "load_from_disk", "listdir", "glob(", "os.walk", "iterdir", "super("),
)
"""What a class calls whose splits depend on files."""
_UNKNOWN_COLUMNS: Final = (
    *("load_dataset(", "load_from_disk", "super(", ".map(", "add_column", "rename_column", "remove_columns"),
    *("from_json", "from_dict(", "from_pandas", "from_csv", "from_generator", "concatenate_datasets"),
)
"""What a class calls whose columns depend on data, or are changed later."""
_MAX_BASES: Final = 5


class _Loader(NamedTuple):
    """A class and its `load`, which may be that of a base class."""

    owner: ast.ClassDef
    load: Function

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, without `self` or `cls`."""
        return self._without_self(parameter_names(self.load))

    @property
    def required(self) -> list[str]:
        """The parameters without a default."""
        return self._without_self(required_parameters(self.load))

    def _without_self(self, names: list[str]) -> list[str]:
        decorators = {each.id for each in self.load.decorator_list if isinstance(each, ast.Name)}
        return names if "staticmethod" in decorators else names[1:]


def class_problems(tree: ConfigurationTree) -> Iterator[Finding]:
    """Yield the arguments that `load` does not take or lacks, and the splits that it does not make."""
    datasets = [*_datasets(tree)]
    used = {
        kind: tree.imported[kind]
        for _, kind in datasets
        if kind in tree.imported and tree.imported[kind][0].startswith(_DATASETS)
    }
    if not used:
        return
    checkout = _Checkout(tree.files)
    accepted = checkout.accepted
    if not accepted:
        return
    known = {kind: checkout.loader(module, alias.name) for kind, (module, alias) in used.items()}
    names = tree.variables.keys() - _listed_names(tree)
    bases = {id(each) for name in names for each in tree.variables[name]}
    for call, kind in datasets:
        loader = known.get(kind)
        if loader is not None:
            yield from _wrong_arguments(tree, call, loader, accepted, is_base=id(call) in bases)
            reader = _reader(tree, values_of(call)["reader_cfg"])
            yield from _absent_splits(loader, kind, reader, tree.places)
            yield from _absent_columns(loader, kind, reader, tree.places)


def _wrong_arguments(
    tree: ConfigurationTree, call: ast.Call, loader: _Loader, accepted: frozenset[str], *, is_base: bool
) -> Iterator[Finding]:
    """Yield the keys of a dataset that `load` does not take, and those that it lacks.

    `accepted` are the keys that every class takes; a dataset that `is_base` of others may get keys there.
    """
    given = {each.arg: each for each in call.keywords if each.arg}
    kind = ast.unparse(given["type"].value)
    others = given.keys() - accepted - _TAKEN
    missing = [each for each in loader.required if each not in others]
    for name in sorted(others - {*loader.parameters} if loader.load.args.kwarg is None else ()):
        message = f"`load` of `{kind}` takes no `{name}`, so that OpenCompass fails"
        free = [each for each in (*loader.parameters, *accepted, *_TAKEN) if each not in given]
        yield misspelled(tree.span(given[name]), message, name, missing or free)
    for name in missing:
        if name not in tree.keys_set_later and not is_base:
            message = f"`load` of `{kind}` needs `{name}`: without it, OpenCompass fails"
            yield Finding(tree.span(given["type"].value), message)


def _listed_names(tree: ConfigurationTree) -> set[str]:
    """Return the variables that are items of lists; the mappings in others may get more keys there."""
    lists = [node.elts for node in tree.all_of(ast.List)]
    appended = [
        node.args
        for node in tree.all_of(ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "append"
    ]
    return {each.id for items in (*lists, *appended) for each in items if isinstance(each, ast.Name)}


def _datasets(tree: ConfigurationTree) -> Iterator[tuple[ast.Call, str]]:
    """Yield the datasets that are written as one call of `dict`, each with the name of its class."""
    for node in tree.mappings:
        given = values_of(node)
        kind = given.get("type")
        if given.keys() >= {"reader_cfg", "infer_cfg"} and None not in given and isinstance(kind, ast.Name):
            yield node, kind.id


def _reader(tree: ConfigurationTree, value: ast.expr) -> ast.Call | None:
    """Return the call of `dict` that makes a reader; None if it is not known."""
    value = tree.resolved(value)
    is_known = isinstance(value, ast.Call) and is_mapping(value) and None not in values_of(value)
    return value if isinstance(value, ast.Call) and is_known else None


def _absent_splits(
    loader: _Loader, kind: str, reader: ast.Call | None, places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the splits of a reader that the class does not make."""
    known = _splits(loader) if reader is not None else None
    if reader is None or known is None:
        return
    given = {each.arg: each.value for each in reader.keywords}
    for key, default in _SPLITS.items():
        value = given.get(key)
        if value is None:
            if default not in known:
                message = f"`{kind}` has no split `{default}`, the default of `{key}`: OpenCompass fails"
                yield Finding(places.span(reader.func), message)
        elif isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value not in known:
            yield Finding(places.span(value), f"`{kind}` has no split `{value.value}`: OpenCompass fails")


def _splits(loader: _Loader) -> frozenset[str] | None:
    """Return texts among which all splits are that a class makes; None if others may come from files."""
    source, given = ast.unparse(loader.owner), loader.load.args
    is_open = bool(given.kwarg or given.vararg) or any("split" in each for each in loader.parameters)
    if is_open or any(call in source for call in _UNKNOWN_SPLITS):
        return None
    if "DatasetDict(" in ast.unparse(loader.load):
        texts = (node.value for node in ast.walk(loader.owner) if isinstance(node, ast.Constant))
        return frozenset(text for text in texts if isinstance(text, str))
    nodes = [*ast.walk(loader.load)]
    tables: dict[str, bool] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            tables[node.targets[0].id] = _is_table(node.value)
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    is_one = all(
        tables.get(each.id, False) if isinstance(each, ast.Name) else _is_table(each) for each in returned
    )
    return _OF_ONE_TABLE if returned and is_one else None


def _absent_columns(
    loader: _Loader, kind: str, reader: ast.Call | None, places: PythonPlaces
) -> Iterator[Finding]:
    """Yield the output column, and the columns that a text names in braces, that no row of the class has."""
    known = _columns(loader.owner) if reader is not None else None
    if reader is None or known is None:
        return
    given = {node.value for node in ast.walk(reader) if isinstance(node, ast.Constant)}
    for keyword in reader.keywords:
        items = keyword.value.elts if isinstance(keyword.value, ast.List) else [keyword.value]
        for each in items if keyword.arg in {"input_columns", "output_column"} else ():
            name = each.value if isinstance(each, ast.Constant) else None
            if not isinstance(name, str) or name in known:
                continue
            if keyword.arg == "output_column" or f"{{{name}}}" in places.text:
                message = f"the rows of `{kind}` have no column `{name}`"
                yield misspelled(places.span(each), message, name, sorted(known - given))


def _columns(owner: ast.ClassDef) -> frozenset[str] | None:
    """Return the columns of the tables that a class makes of literal rows; None if it may make others."""
    if any(call in ast.unparse(owner) for call in _UNKNOWN_COLUMNS):
        return None
    found: set[str] = set()
    for function in (node for node in ast.walk(owner) if isinstance(node, Function)):
        nodes = [*ast.walk(function)]
        if any(_adds_unknown(node) for node in nodes):
            return None
        made = [
            node for node in nodes if isinstance(node, ast.Call) and "from_list" in ast.unparse(node.func)
        ]
        for row in (row for call in made for row in _rows(call, nodes)):
            keys = [each.value for each in row.keys if isinstance(each, ast.Constant)] if row else []
            if row is None or not keys or len(keys) != len(row.keys):
                return None
            found.update(map(str, keys))
    return frozenset(found) or None


def _adds_unknown(node: ast.AST) -> bool:
    """Return whether a node sets a column, or puts a table of unknown rows into a dataset."""
    match node:
        case ast.Assign(targets=[ast.Subscript(), *_], value=value):
            return not _is_table(value)
        case ast.Call(func=ast.Name(id="DatasetDict"), args=[ast.Dict(values=tables)]):
            return not all(isinstance(each, ast.Name) or _is_table(each) for each in tables)
    return False


def _rows(made: ast.Call, nodes: list[ast.AST]) -> Iterator[ast.Dict | None]:
    """Yield the literal rows of a table; None for those that are not known."""
    given = made.args[0] if made.args else None
    if isinstance(given, ast.ListComp):
        yield given.elt if isinstance(given.elt, ast.Dict) else None
        return
    if not isinstance(given, ast.Name):
        yield None
        return
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=arguments) if (
                name == given.id
            ):
                row = arguments[0] if method == "append" and arguments else None
                yield row if isinstance(row, ast.Dict) else None
            case ast.Assign(targets=targets, value=value) if any(
                _is_name(each, given.id) for each in targets
            ):
                if not isinstance(value, ast.List) or value.elts:
                    yield None
            case ast.AugAssign(target=target) | ast.For(target=target) if _is_name(target, given.id):
                yield None


def _is_name(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _is_table(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("Dataset.from_")


class _Checkout:
    """The classes of datasets in the source of OpenCompass; nothing is run."""

    def __init__(self, files: Files) -> None:
        self._files: Final = files

    @property
    def accepted(self) -> frozenset[str]:
        """The keys that the base class, or what makes it, takes out; empty if the class is not found."""
        base = self._class(f"{_DATASETS}.base", _BASE)
        made = _method(base, "__init__") if base is not None else None
        if made is None or made.args.kwarg is None:
            return frozenset()
        tree = self._tree(_BUILDING)
        builders = [node for node in tree.body if isinstance(node, Function)] if tree is not None else []
        makers = [made, *(node for node in builders if node.name == _BUILDER)]
        taken = {each.arg for each in (*made.args.args[1:], *made.args.kwonlyargs)}
        for node in (node for maker in makers for node in ast.walk(maker)):
            match node:
                case ast.Call(func=ast.Attribute(attr="pop"), args=[ast.Constant(value=key), *_]):
                    taken.add(str(key))
        return frozenset(taken)

    def loader(self, module: str, name: str) -> _Loader | None:
        """Return the class that a configuration imports, with its `load`; None if it is not found."""
        for each in (module,) if module != _DATASETS else self._modules(name):
            made = self._class(each, name)
            if made is not None:
                return self._loader(each, made, _MAX_BASES)
        return None

    def _loader(self, module: str, made: ast.ClassDef, depth: int) -> _Loader | None:
        load, base = _method(made, "load"), made.bases[0] if made.bases else None
        if _method(made, "__init__") is not None or not isinstance(base, ast.Name) or not depth:
            return None
        if base.id == _BASE:
            return None if load is None else _Loader(made, load)
        inherited = self._class(module, base.id)
        found = self._loader(module, inherited, depth - 1) if inherited is not None else None
        return found if found is None or load is None else _Loader(made, load)

    def _modules(self, name: str) -> Iterator[str]:
        """Yield the modules that may define a class that the package exports."""
        package = self._tree(_DATASETS)
        short = name.lower()
        for node in package.body if package is not None else ():
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                names = {alias.name for alias in node.names}
                last = node.module.rpartition(".")[2].replace("_", "").lower()
                if name in names or ("*" in names and last in short):
                    yield f"{_DATASETS}.{node.module}"

    def _class(self, module: str, name: str) -> ast.ClassDef | None:
        tree = self._tree(module)
        found = [
            node
            for node in (tree.body if tree is not None else ())
            if isinstance(node, ast.ClassDef) and node.name == name
        ]
        return found[0] if len(found) == 1 else None

    def _tree(self, module: str) -> ast.Module | None:
        text = module_text(self._files, module)
        return parse_python(text) if text is not None else None


def _method(made: ast.ClassDef, name: str) -> Function | None:
    return next((node for node in made.body if isinstance(node, Function) and node.name == name), None)
