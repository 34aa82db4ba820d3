"""Top-level functions of Python files: their definitions, imports and uses; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from promptls.ide.symbols.symbol import Occurrence, Use
from promptls.syntax.python_places import Function, PythonPlaces, argument, parse_python
from promptls.text.positions import Span
from promptls.text.steps import Steps
from promptls.workspace.disk import python_paths_by_folder, text_on_disk
from promptls.workspace.snapshot import Snapshot

ENDING: Final = ".py"


class PythonUses(NamedTuple):
    """The certain occurrences of a function in one file, and those with an unclear meaning."""

    certain: tuple[tuple[Span, Use], ...] = ()
    unclear: tuple[Span, ...] = ()


@lru_cache(maxsize=32)
def functions_of(text: str) -> Mapping[str, bool]:
    """Return the top-level functions of a Python text, and whether they can be used as metrics directly.

    Functions with a decorator that names them cannot. Empty if the text cannot be parsed.
    """
    tree = parse_python(text)
    return {
        node.name: not any(_gives_name(each) for each in node.decorator_list)
        for node in (tree.body if tree else ())
        if isinstance(node, Function)
    }


def _gives_name(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and argument(decorator, "name") is not None


def uses_in(snapshot: Snapshot, path: str, home: str, name: str) -> PythonUses:
    """Return the occurrences in the Python file at `path` of the function `name` from the file at `home`."""
    program = snapshot.template(path)
    if program is None or name not in program.source.text:
        return PythonUses()
    text = program.source.text
    if path == home:
        return _uses(text, name, None)
    modules = tuple(dict.fromkeys(each for each in _modules(text) if _leads_to(snapshot, each, path, home)))
    return _uses(text, name, modules) if modules else PythonUses()


def function_places(snapshot: Snapshot, home: str, name: str) -> Iterator[Occurrence | None]:
    """Yield every occurrence of a function in Python; None separates the files."""
    for path in (yield from programs_with(snapshot, name)):
        yield None
        for span, use in uses_in(snapshot, path, home, name).certain:
            yield Occurrence(path, span, use, "python")


def function_meant(snapshot: Snapshot, path: str, offset: int, name: str) -> str | None:
    """Return the file of the function that a name in a Python file refers to.

    None if it is not a function.

    The file is the Python file itself, or the one that the name is imported from.
    """
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    if name in functions_of(text):
        homes = [path]
    else:
        homes = [home for module in _modules(text) for home in _homes(snapshot, module, path)]
    for home in homes:
        if any(span.touches(offset) for span, _ in uses_in(snapshot, path, home, name).certain):
            return home
    return None


def programs_with(snapshot: Snapshot, word: str) -> Steps[tuple[str, ...]]:
    """Return the Python files of the workspace that contain a word; open files are searched as edited."""
    key = ("programs with", word)
    known: tuple[str, ...] | None = snapshot.memo.get(key)
    if known is None:
        opened = {**snapshot.auxiliary, **snapshot.open_files}
        programs = {path: each.template for path, each in opened.items() if path.endswith(ENDING)}
        found = {path for path, each in programs.items() if word in each.source.text}
        for paths in python_paths_by_folder(snapshot.roots):
            yield
            for path in paths:
                yield
                if path not in programs and word in (text_on_disk(path) or ""):
                    found.add(path)
        known = snapshot.memo[key] = tuple(sorted(found))
    return known


# -- modules -------------------------------------------------------------------------


class _Module(NamedTuple):
    """A module as named in an import: its parts, and the number of folders that a relative import goes up."""

    parts: tuple[str, ...]
    level: int


@lru_cache(maxsize=32)
def _modules(text: str) -> tuple[_Module, ...]:
    """Return the modules that a Python text may import a function from."""
    tree = parse_python(text)
    found: dict[_Module, None] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.module:
            found[_Module(tuple(node.module.split(".")), node.level)] = None
        found.update({module: None for module, _ in _imported_modules(node)})
    return tuple(found)


def _imported_modules(node: ast.AST) -> Iterator[tuple[_Module, str]]:
    """Yield the modules that an import may name, each with its name in the file."""
    parts: tuple[str, ...] = ()
    level = 0
    if isinstance(node, ast.ImportFrom):
        parts, level = tuple(node.module.split(".")) if node.module else (), node.level
    for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
        yield _Module((*parts, *each.name.split(".")), level), each.asname or each.name


def _homes(snapshot: Snapshot, module: _Module, path: str) -> Iterator[str]:
    """Yield the files that a module may refer to, starting with the one nearest to the importing file."""
    folder = Path(path).parent
    if module.level:
        folders = [folder, *folder.parents][module.level - 1 : module.level]
    else:
        roots = {Path(root) for root in snapshot.roots}
        folders = []
        for each in (folder, *folder.parents):
            folders.append(each)
            if each in roots:
                break
    for each in folders:
        for file in (Path(each, *module.parts).with_suffix(ENDING), Path(each, *module.parts, "__init__.py")):
            if snapshot.exists(str(file)):
                yield str(file)
                return


def _leads_to(snapshot: Snapshot, module: _Module, path: str, home: str) -> bool:
    """Return whether an import refers to a file: the nearest with its name, or any if none is near."""
    near = next(_homes(snapshot, module, path), None)
    if near is not None or module.level:
        return near == home
    own = Path(home).with_suffix("").parts
    own = own[:-1] if own[-1] == "__init__" else own
    return own[-len(module.parts) :] == module.parts


# -- places --------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _uses(text: str, name: str, modules: tuple[_Module, ...] | None) -> PythonUses:
    """Return the occurrences in a function's own file, or in one that imports it from one of the modules."""
    tree = parse_python(text)
    if tree is None:
        return PythonUses()
    places, nodes = PythonPlaces(text), list(ast.walk(tree))
    if modules is None:
        has_name = True
        certain: list[tuple[Span, Use]] = [
            (places.name_span(node), "declaration")
            for node in tree.body
            if isinstance(node, Function) and node.name == name
        ]
    else:
        imported = list(_imported(nodes, name, modules))
        has_name = any(each.asname in {None, name} for each in imported)
        certain = [(_beginning(places.span(each), name), "read") for each in imported]
        certain += _through_module(places, nodes, name, modules)
    if not certain or not has_name:
        return PythonUses(tuple(certain))
    references = tuple(_references(places, tree, nodes, name))
    if _is_rebound(nodes, name, 1 if modules is None else 0):
        return PythonUses(tuple(certain), references)
    return PythonUses((*certain, *((span, "read") for span in references)))


def _references(places: PythonPlaces, tree: ast.Module, nodes: list[ast.AST], name: str) -> Iterator[Span]:
    """Yield the uses of the name in a text, and its entries in `__all__`."""
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == name:
            yield places.span(node)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets
        ):
            for each in ast.walk(statement.value):
                if isinstance(each, ast.Constant) and each.value == name:
                    span = places.inside_quotes(each)
                    if span is not None:
                        yield span


def _imported(nodes: list[ast.AST], name: str, modules: tuple[_Module, ...]) -> Iterator[ast.alias]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            module = _Module(tuple(node.module.split(".")), node.level)
            yield from (each for each in node.names if module in modules and each.name == name)


def _through_module(
    places: PythonPlaces, nodes: list[ast.AST], name: str, modules: tuple[_Module, ...]
) -> Iterator[tuple[Span, Use]]:
    """Yield the uses of `module.name`, by the names of the modules in the file."""
    known = {name for node in nodes for module, name in _imported_modules(node) if module in modules}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) in known:
            end = places.span(node).end
            yield Span(end - len(name), end), "read"


def _is_rebound(nodes: list[ast.AST], name: str, own: int) -> bool:
    """Return whether the text binds the name to anything but the function, which has `own` definitions."""
    functions = sum(isinstance(node, Function) and node.name == name for node in nodes)
    return functions > own or any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        for node in nodes
    )


def _beginning(span: Span, name: str) -> Span:
    """Return the span of a name at the beginning of another span."""
    return Span(span.start, span.start + len(name))
