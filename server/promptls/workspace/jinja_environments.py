"""The template that `environment.get_template("name")` loads in a Python file, where that is written out."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import Final

from promptls.workspace.literal_paths import literal_path
from promptls.workspace.python_attributes import attribute_value, meaning_in
from promptls.workspace.python_scopes import Scope

_ENVIRONMENTS: Final = frozenset(
    {"Environment", "SandboxedEnvironment", "ImmutableSandboxedEnvironment", "NativeEnvironment"}
)
_PACKAGE_FOLDER: Final = "templates"
"""Where a package's templates are for Jinja, unless it is told otherwise."""


def is_get_template(node: ast.expr | None) -> bool:
    """Whether an expression asks a Jinja environment for a template."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get_template"
        and len(node.args) == 1
        and not node.keywords
    )


def loaded_template(node: ast.Call, scope: Scope, file: str) -> str | None:
    """The path of the template that a call of `get_template` loads; None where its folder is not known."""
    assert isinstance(node.func, ast.Attribute)
    name = literal_path(node.args[0], meaning_in(scope), file)
    environment = value_meant(node.func.value, scope)
    if name is None or not isinstance(environment, ast.Call) or _name(environment) not in _ENVIRONMENTS:
        return None
    loader = next((each.value for each in environment.keywords if each.arg == "loader"), None)
    loader = value_meant(loader, scope) if loader is not None else None
    folder = _folder_of(loader, scope, file) if isinstance(loader, ast.Call) else None
    return None if folder is None else str(PurePosixPath(folder) / name)


def value_meant(node: ast.expr, scope: Scope) -> ast.expr | None:
    """What a name, or an attribute of one, stands for; anything else stands for itself."""
    if isinstance(node, ast.Name):
        return scope.value_of(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return attribute_value(scope, node.value.id, node.attr)
    return node


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _folder_of(loader: ast.Call, scope: Scope, file: str) -> str | None:
    """The folder that a loader of files or of a package looks in, where it is one."""
    texts: list[str | None] = []
    for each in (*loader.args, *(keyword.value for keyword in loader.keywords if keyword.arg != "encoding")):
        folders = each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each]
        texts += [literal_path(folder, meaning_in(scope), file) for folder in folders]
    match _name(loader), texts:
        case "FileSystemLoader", [str() as folder]:
            return folder
        case "PackageLoader", [str() as package, *rest] if None not in rest:
            return str(PurePosixPath(package.replace(".", "/"), *(map(str, rest or [_PACKAGE_FOLDER]))))
    return None
