"""The Python calls that load a template with data, found by reading Python files; nothing is run.

Only what is written out counts: `Prompt(template_path="a.yml.j2", template_data={"text": …})` and
`promptls.load("a.yml.j2").render(text=…)`, or `.render` of what an environment of Jinja's with a loader of
files gives by `get_template("a.yml.j2")`, also with a name in between, or an attribute of `self`, that
stands for nothing else.
A call whose path or data is made in any other way is left out.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from promptls.meaning.shape import UNKNOWN, Shape
from promptls.text.lines import line_starts
from promptls.text.span import Span
from promptls.workspace.disk import MAX_BYTES, SKIPPED_FOLDERS
from promptls.workspace.given_values import given_shape
from promptls.workspace.jinja_environments import is_get_template, loaded_template, value_meant
from promptls.workspace.literal_paths import literal_path
from promptls.workspace.python_attributes import meaning_in
from promptls.workspace.python_scopes import Scope, scopes_of

_LOADERS: Final = frozenset({"Prompt"})
"""The names of what loads a template: Prompt Poet's class."""
_MARKS: Final = ("template_path", "promptls", "get_template")
"""What a file with such a call holds in any case."""
_LIBRARY: Final = "promptls"
_UNKNOWN_KEYWORDS: Final = frozenset({"package_name", "template_loader", "from_examples", "raw_template"})
"""Arguments with which a path or the data means something else."""


class TemplateCall(NamedTuple):
    """A call in the Python file at `file` that loads the template `template` with data of these keys.

    The path is as it is written, or absolute where it is made from `__file__`. `span` is that of the
    call's name, in code points; `line` counts from 0.
    """

    file: str
    span: Span
    line: int
    template: str
    keys: frozenset[str]
    given: tuple[tuple[str, Shape], ...] = ()
    """The values by their keys, as far as they are written out."""
    is_jinja: bool = False
    """Whether Jinja renders the template by itself, without Prompt Poet."""


def python_paths_by_folder(roots: Iterable[str], shallow: Container[str] = ()) -> Iterator[list[str]]:
    """The Python files below each root, folder by folder; without hidden folders and those of packages.

    No deeper than the folders right in a root that is `shallow`.
    """
    for root in roots:
        for current, folders, files in os.walk(root):
            is_deepest = root in shallow and current != root
            folders[:] = sorted(
                name
                for name in folders
                if not (is_deepest or name.startswith(".") or name in SKIPPED_FOLDERS)
            )
            yield [str(Path(current) / name) for name in sorted(files) if name.endswith(".py")]


def scanned_calls(
    roots: Iterable[str], calls: dict[str, tuple[TemplateCall, ...]], shallow: Container[str] = ()
) -> Iterator[None]:
    """Fill `calls` with the calls in each Python file below `roots` that has some.

    Gives way after each file and each folder, so that a server can do something else in between.
    """
    for paths in python_paths_by_folder(roots, shallow):
        for path in paths:
            found = calls_in_file(path)
            if found:
                calls[path] = found
            yield
        yield


def calls_in_file(path: str) -> tuple[TemplateCall, ...]:
    """The calls in the Python file at `path`; none where it cannot be read or parsed."""
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            return ()
        content = Path(path).read_bytes()
    except OSError:
        return ()
    return calls_in_text(content.decode("utf-8", errors="replace"), path)


def calls_in_text(text: str, path: str) -> tuple[TemplateCall, ...]:
    """The same as `calls_in`, without parsing a text that says nothing of templates."""
    return calls_in(text, path) if any(mark in text for mark in _MARKS) else ()


def calls_in(text: str, path: str) -> tuple[TemplateCall, ...]:
    """The calls in a Python text that stands in the file at `path`."""
    try:
        tree = ast.parse(text)
        return tuple(_calls(tree, text, path))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def data_of(node: ast.Call) -> tuple[ast.expr, ...] | None:
    """The expressions whose keys are the data of a call; the call itself stands for its keywords.

    None where the data of the call cannot be told.
    """
    if _name(node.func) == "render":
        unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
        is_known = not any(isinstance(each, ast.Starred) for each in node.args)
        return (*node.args, *unpacked, node) if is_known else None
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    return tuple(keyword.value for keyword in node.keywords if keyword.arg == "template_data") or None


def _calls(tree: ast.Module, text: str, path: str) -> Iterator[TemplateCall]:
    starts = line_starts(text)
    loads = _names_of_load(tree)
    for scope in scopes_of(tree):
        for node in scope.calls:
            template, is_jinja = _template_of(node, scope, loads, path)
            if is_jinja and ".globals" in text:  # they may give what the call does not
                continue
            data = data_of(node) if template else None
            keys = None if data is None else _keys_of(data, node, scope)
            if template and keys is not None and node.func.end_col_offset is not None:
                name = _name(node.func)
                line = (node.func.end_lineno or node.lineno) - 1
                begin = starts[line] if line < len(starts) else 0
                # The parser counts bytes, and a name ends where its last byte does.
                before = text[begin:].encode("utf-8", "surrogatepass")[: node.func.end_col_offset]
                end = begin + len(before.decode("utf-8", "replace"))
                given = _given(keys, data or (), scope)
                yield TemplateCall(path, Span(end - len(name), end), line, template, keys, given, is_jinja)


def _name(function: ast.expr) -> str:
    """The last name of what is called."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _template_of(node: ast.Call, scope: Scope, loads: frozenset[str], path: str) -> tuple[str | None, bool]:
    """The path of the template that a call gives data to, and whether Jinja loads it."""
    load = value_meant(node.func.value, scope) if isinstance(node.func, ast.Attribute) else None
    if _name(node.func) == "render" and isinstance(load, ast.Call) and is_get_template(load):
        return loaded_template(load, scope, path), True
    loaded = _loaded(node, load, loads)
    return (None if loaded is None else literal_path(loaded, meaning_in(scope), path)), False


def _loaded(node: ast.Call, load: ast.expr | None, loads: frozenset[str]) -> ast.expr | None:
    """The expression of the path of the template that a call gives data to, where it is such a call.

    `load` is what the method that is called belongs to.
    """
    name = _name(node.func)
    if name in _LOADERS:
        arguments = {keyword.arg: keyword.value for keyword in node.keywords}
        return None if _UNKNOWN_KEYWORDS & arguments.keys() else arguments.get("template_path")
    if name != "render" or not isinstance(load, ast.Call) or ast.unparse(load.func) not in loads:
        return None
    if load.args:
        return load.args[0]
    return next((keyword.value for keyword in load.keywords if keyword.arg == "path"), None)


def _names_of_load(tree: ast.Module) -> frozenset[str]:
    """What a module calls the function `promptls.load`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(f"{each.asname or each.name}.load" for each in node.names if each.name == _LIBRARY)
        elif isinstance(node, ast.ImportFrom) and node.module == _LIBRARY and not node.level:
            names.update(each.asname or each.name for each in node.names if each.name == "load")
    return frozenset(names)


def _keys_of(data: tuple[ast.expr, ...], call: ast.Call, scope: Scope) -> frozenset[str] | None:
    """The keys of all the data of a call; None where those of one of them cannot be told."""
    found: set[str] = set()
    for each in data:
        keys = (
            frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
            if each is call
            else _keys(each, scope)
        )
        if keys is None:
            return None
        found |= keys
    return frozenset(found)


def _given(keys: frozenset[str], data: tuple[ast.expr, ...], scope: Scope) -> tuple[tuple[str, Shape], ...]:
    """The values that a call gives, sorted by their keys; unknown where they are not written out."""
    found = dict.fromkeys(sorted(keys), UNKNOWN)
    for each in data:
        value = scope.constant_of(each.id) if isinstance(each, ast.Name) else each
        if isinstance(value, ast.Dict):
            found |= dict(given_shape(value, scope).keys)
        elif isinstance(value, ast.Call):
            keywords = {keyword.arg: given_shape(keyword.value, scope) for keyword in value.keywords}
            found |= {name: shape for name, shape in keywords.items() if name is not None}
    return tuple(found.items())


def _keys(node: ast.expr | None, scope: Scope) -> frozenset[str] | None:
    """The keys of a dict that is written out, or of a variable that is nothing else; None otherwise."""
    if isinstance(node, ast.Name):
        node = scope.constant_of(node.id)
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return frozenset(map(str, keys)) if all(isinstance(key, str) for key in keys) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        names = [keyword.arg for keyword in node.keywords]
        return None if node.args or None in names else frozenset(map(str, names))
    return None
