"""JSON Schemas of settings and header, and TypeScript types of what extension and pages receive."""

from __future__ import annotations

import ast
import inspect
import json
import types
from collections.abc import Iterator
from typing import Any, Final, Literal, Union, get_args, get_origin

from typing_extensions import NotRequired, get_type_hints, is_typeddict

from promptls.lint.registry import RULES
from promptls.preview import preview_wire as preview
from promptls.results_view import results_wire as results
from promptls.server import command_types as commands
from promptls.settings.header import Header
from promptls.settings.project import Project, Severity
from promptls.truncation import lab_report as lab

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """Return the schema of `promptls.toml`, including every rule."""
    schema = _without_null(_tidy(Project.model_json_schema()))
    for name, field in Project.model_fields.items():
        # pydantic omits defaults created by a function.
        default = field.get_default(call_default_factory=True)
        if isinstance(default, list) and default:
            schema["properties"][name]["default"] = default
    schema["properties"]["rules"] = rules_schema()
    return {"$schema": DRAFT, **schema, "title": "Settings of promptls"}


def header_schema() -> dict[str, Any]:
    """Return the schema of a prompt file's header."""
    return {"$schema": DRAFT, **_tidy(Header.model_json_schema()), "title": "Header of a prompt file"}


def rules_schema() -> dict[str, Any]:
    """Return the schema of the setting `rules`: the severities that each rule can have.

    VS Code has a form for objects only if the schema of each value names its type.
    """
    severities = list(get_args(Severity))
    return {
        "type": "object",
        "description": Project.model_fields["rules"].description,
        "properties": {
            rule.name: {"type": "string", "enum": severities, "description": rule.summary} for rule in RULES
        },
        "additionalProperties": False,
    }


def as_json(value: Any) -> str:
    """Return `value` as the text of a JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _without_null(value: Any) -> Any:
    """Return the schema without null alternatives, since TOML omits the key instead."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {key: _without_null(its) for key, its in value.items()}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if not choices:
        return schema
    rest = {key: its for key, its in schema.items() if key not in {"anyOf", "default"}}
    return {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}


def _tidy(value: Any, *, names: bool = False) -> Any:
    """Return the schema without pydantic's generated titles; `names` marks a mapping with names as keys."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _tidy(its, names=key in {"properties", "$defs"} and not names)
        for key, its in value.items()
        if names or key != "title"
    }


WIRE_TYPES: Final = "vscode-client/web/src/wire"

_MODULES: Final = {"lab": lab, "preview": preview, "results": results, "commands": commands}

_PLAIN: Final[dict[Any, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
    object: "unknown",
}


def wire_types() -> dict[str, str]:
    """Return the TypeScript files by their names."""
    return {f"{name}.ts": _file(name, module) for name, module in _MODULES.items()}


def _file(name: str, module: types.ModuleType) -> str:
    imports: dict[str, set[str]] = {}
    blocks = [
        *_aliases(module, imports),
        *(_interface(each, module, imports) for each in _typed_dicts(module)),
    ]
    lines = [
        f'import type {{ {", ".join(sorted(names))} }} from "./{other}";\n'
        for other, names in sorted(imports.items())
        if other != name
    ]
    heading = f"/** The types of {module.__name__}; `python -m promptls.docgen` writes this. */\n\n"
    return heading + "".join(lines) + ("\n" if lines else "") + "\n".join(blocks)


def _typed_dicts(module: types.ModuleType) -> Iterator[Any]:
    return (
        value
        for value in vars(module).values()
        if is_typeddict(value) and value.__module__ == module.__name__
    )


def _aliases(module: types.ModuleType, imports: dict[str, set[str]]) -> Iterator[str]:
    """Yield the type aliases that the module declares."""
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield f"export type {name} = {_type(getattr(module, name), imports)};\n"


def _interface(declared: Any, module: types.ModuleType, imports: dict[str, set[str]]) -> str:
    fields = get_type_hints(declared, include_extras=True)
    comments = _comments(declared, module)
    lines = [f"/** {inspect.cleandoc(declared.__doc__)} */", f"export interface {_name(declared)} {{"]
    for name, hint in fields.items():
        if name in comments:
            lines.append(f"  /** {comments[name]} */")
        origin: Any = get_origin(hint)
        is_optional = origin is NotRequired
        written = _type(get_args(hint)[0] if is_optional else hint, imports)
        lines.append(f"  {name}?: {written} | undefined;" if is_optional else f"  {name}: {written};")
    return "\n".join([*lines, "}\n"])


def _comments(declared: Any, module: types.ModuleType) -> dict[str, str]:
    """Return the docstrings of the fields of a class and of its bases, on one line each."""
    classes = {
        node.name: node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, str] = {}
    waiting = [declared.__name__]
    while waiting:
        node = classes[waiting.pop()]
        waiting += [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
        for field, comment in zip(node.body, node.body[1:], strict=False):
            match field, comment:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = " ".join(text.split())
    return found


def _type(hint: Any, imports: dict[str, set[str]]) -> str:
    """Return a Python type in TypeScript, and record the names to import."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint):
        file = next(name for name, module in _MODULES.items() if module.__name__ == hint.__module__)
        imports.setdefault(file, set()).add(_name(hint))
        return _name(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(json.dumps(value) for value in arguments)
    if origin in {Union, types.UnionType}:
        return " | ".join(_type(each, imports) for each in arguments)
    if origin is tuple:
        return f"[{', '.join(_type(each, imports) for each in arguments)}]"
    if origin is list:
        item = _type(arguments[0], imports)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is dict:
        return f"Record<string, {_type(arguments[1], imports)}>"
    raise TypeError(f"no TypeScript type for {hint}")


def _name(declared: Any) -> str:
    name: str = declared.__name__
    return name.removesuffix("Json")
