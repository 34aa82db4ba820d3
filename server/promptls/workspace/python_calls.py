"""The Python calls that load a template with data, found by reading Python files; nothing is run.

Only what is written out counts: `Prompt(template_path="a.yml.j2", template_data={"text": …})`.
A call whose path or data is made in any other way is left out.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from promptls.text.lines import line_starts
from promptls.text.span import Span
from promptls.workspace.disk import MAX_BYTES, SKIPPED_FOLDERS
from promptls.workspace.literal_paths import literal_path
from promptls.workspace.python_scopes import Scope, scopes_of

_LOADERS: Final = frozenset({"Prompt"})
"""The names of what loads a template: Prompt Poet's class."""
_MARK: Final = b"template_path"
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


def python_paths_by_folder(roots: Iterable[str]) -> Iterator[list[str]]:
    """The Python files below each root, folder by folder; without hidden folders and those of packages."""
    for root in roots:
        for current, folders, files in os.walk(root):
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS
            )
            yield [str(Path(current) / name) for name in sorted(files) if name.endswith(".py")]


def scanned_calls(roots: Iterable[str], calls: dict[str, tuple[TemplateCall, ...]]) -> Iterator[None]:
    """Fill `calls` with the calls in each Python file below `roots` that has some.

    Gives way after each file and each folder, so that a server can do something else in between.
    """
    for paths in python_paths_by_folder(roots):
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
    return calls_in(content.decode("utf-8", errors="replace"), path) if _MARK in content else ()


def calls_in(text: str, path: str) -> tuple[TemplateCall, ...]:
    """The calls in a Python text that stands in the file at `path`."""
    try:
        tree = ast.parse(text)
        return tuple(_calls(tree, text, path))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _calls(tree: ast.Module, text: str, path: str) -> Iterator[TemplateCall]:
    starts = line_starts(text)
    for scope in scopes_of(tree):
        for node in scope.calls:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            if name not in _LOADERS or None in arguments or _UNKNOWN_KEYWORDS & arguments.keys():
                continue
            template = _path(arguments.get("template_path"), scope, path)
            keys = _keys(arguments.get("template_data"), scope)
            if template and keys is not None and node.func.end_col_offset is not None:
                line = (node.func.end_lineno or node.lineno) - 1
                begin = starts[line] if line < len(starts) else 0
                # The parser counts bytes, and a name ends where its last byte does.
                before = text[begin:].encode("utf-8", "surrogatepass")[: node.func.end_col_offset]
                end = begin + len(before.decode("utf-8", "replace"))
                yield TemplateCall(path, Span(end - len(name), end), line, template, keys)


def _path(node: ast.expr | None, scope: Scope, path: str) -> str | None:
    return None if node is None else literal_path(node, scope.value_of, path)


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
