"""The inputs of a template as a JSON Schema, a pydantic model or a `TypedDict`."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from promptls.ide.code_lenses import Action
from promptls.rendering.samples import samples_of
from promptls.semantic.kind import Kind
from promptls.semantic.types.assignability import describe_clause, given_value, is_needed
from promptls.semantic.types.shape import Clause, Need, Shape, fails_for_null
from promptls.text.errors import UserError
from promptls.text.format import upper_first
from promptls.workspace.contract import NeededInput, inputs_of
from promptls.workspace.snapshot import Snapshot

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "scalar": (str, int, float),
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
    "mapping": (dict,),
}


def widen_shape(shape: Shape, value: Any) -> Shape:
    """Return the shape, widened to accept `value`: `any` if the value has a different type."""
    if value is None:
        return replace(shape, optional=True, needed=frozenset(), refuses_null=False)
    if shape.kind == "union":
        fitting = next((each for each in shape.alternatives if _fits(each, value)), None)
        if fitting is None:
            return Shape("any", optional=shape.optional)
        wider = [widen_shape(each, value) if each is fitting else each for each in shape.alternatives]
        return replace(shape, alternatives=tuple(wider))
    if shape.kind not in _TYPES:
        return shape
    if not _fits(shape, value):
        return Shape("any", optional=shape.optional)
    if isinstance(value, dict):
        beside = dict(given_value(value).keys)
        keys = tuple((name, _fitted_key(below, name, value, beside)) for name, below in shape.keys)
        written = {name for name, _ in shape.keys}
        others = [item for key, item in value.items() if key not in written]
        return replace(shape, keys=keys, element=_fitted_all(shape.element, others))
    if isinstance(value, (list, tuple)):
        return replace(shape, element=_fitted_all(shape.element, value))
    return shape


def _fits(shape: Shape, value: Any) -> bool:
    """Return whether a value has the type of a shape, regardless of its contents."""
    types = _TYPES.get(shape.kind, ())
    return isinstance(value, types) and not (shape.kind == "number" and isinstance(value, bool))


def _fitted_key(shape: Shape, name: str, value: dict[Any, Any], beside: Mapping[str, Shape]) -> Shape:
    return widen_shape(shape, value[name]) if name in value else missing_shape(shape, beside)


def missing_shape(shape: Shape, beside: Mapping[str, Shape]) -> Shape:
    """Return the shape of a value that is missing in data with the values `beside`."""
    if not shape.optional:
        return replace(shape, optional=True, refuses_null=fails_for_null(shape))
    left = frozenset(clause for clause in shape.needed if is_needed([clause], beside, is_open=False) is None)
    return shape if left == shape.needed else replace(shape, needed=left)


def _fitted_all(shape: Shape | None, values: Any) -> Shape | None:
    if shape is not None:
        for value in values:
            shape = widen_shape(shape, value)
    return shape


def condition_text(shape: Shape) -> str:
    """Return a description of the conditions under which an optional value is required.

    Empty if there are none, or they are unknown.
    """
    certain = sorted(describe_clause(clause) for clause in shape.needed if _is_certain(clause))
    return "; or ".join(certain)


def conditions_of_keys(keys: Iterable[tuple[str, Shape]]) -> list[dict[str, Any]]:
    """Return for each condition the `if` and `then` of the keys that it requires."""
    needed: dict[Clause, list[tuple[str, Shape]]] = {}
    for name, shape in keys:
        for clause in shape.needed:
            if _is_certain(clause):
                needed.setdefault(clause, []).append((name, shape))
    return [
        {"if": _if(clause), "then": _then(found)}
        for clause, found in sorted(needed.items(), key=lambda each: describe_clause(each[0]))
    ]


def _is_certain(clause: Clause) -> bool:
    return not any(need.is_partial for need in clause)


def _if(clause: Clause) -> dict[str, Any]:
    tests = [_test(need) for need in sorted(clause, key=lambda need: (need.path, need.is_among))]
    return tests[0] if len(tests) == 1 else {"allOf": tests}


def _test(need: Need) -> dict[str, Any]:
    """Return the schema of a mapping in which a value is, or is not, one of the constants."""
    values = sorted(need.values, key=repr)
    schema: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": values}
    for name in reversed(need.path):
        schema = {"properties": {name: schema}, "required": [name]}
    return schema if need.is_among else {"not": schema}


def _then(found: Iterable[tuple[str, Shape]]) -> dict[str, Any]:
    keys = list(found)
    schema: dict[str, Any] = {"required": [name for name, _ in keys]}
    strict = {name: {"not": {"type": "null"}} for name, shape in keys if fails_for_null(shape)}
    return {"properties": strict, **schema} if strict else schema


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCHEMA_TYPES: Final[dict[str, Any]] = {
    "scalar": ["string", "number", "boolean"],
    "text": "string",
    "number": "number",
    "boolean": "boolean",
    "list": "array",
    "mapping": "object",
}


def contract_schema(snapshot: Snapshot, path: str) -> dict[str, Any]:
    """Return a JSON Schema for the data of the file at `path` and its includes.

    It accepts the file's own samples and examples: inferred types that do not match them are widened.
    Declared schemas are included unchanged. Functions are left out, because they are not data.
    """
    inputs = [each for each in inputs_of(snapshot, path) if each.shape.kind != "callable"]
    data_sets = given_data(snapshot, path)
    shapes = [(each.name, _fit(each, data_sets)) for each in inputs]
    properties = {each.name: input_schema(each, data_sets) for each in inputs}
    template = snapshot.template(path)
    described = template.declarations.data.get("description") if template else None
    schema: dict[str, Any] = {"$schema": DIALECT, "title": Path(path).name}
    if isinstance(described, str):
        schema["description"] = described
    schema |= {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in inputs if is_required(each, data_sets)],
    }
    if conditions := conditions_of_keys(shapes):
        schema["allOf"] = conditions
    return schema


def is_required(each: NeededInput, data_sets: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether an input is required: it is read without a guard, and in all data of the file."""
    is_read = bool(each.places) or each.declared is not None
    return is_read and not each.shape.optional and all(each.name in data for data in data_sets)


def input_schema(each: NeededInput, data_sets: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of one input: the declared schema, completed by the inferred one."""
    inferred = schema_of_shape(_fit(each, data_sets))
    if not each.schema:
        return inferred
    if "type" in each.schema and _types(each.schema["type"]) != _types(inferred.get("type")):
        return dict(each.schema)
    if "type" not in each.schema and any(key in each.schema for key in ("enum", "const", "anyOf", "$ref")):
        return dict(each.schema)
    return {**inferred, **each.schema}


def _fit(each: NeededInput, data_sets: Iterable[Mapping[str, Any]]) -> Shape:
    """Return the shape of an input, widened to accept the file's own data."""
    shape = each.shape
    for data in data_sets:
        if each.name in data:
            shape = widen_shape(shape, data[each.name])
        elif shape.needed:
            shape = missing_shape(shape, dict(given_value(data).keys))
    return shape


def _types(value: Any) -> set[str]:
    return set(map(str, _listed(value))) - {"null"}


def schema_of_shape(shape: Shape) -> dict[str, Any]:
    """Return the schema of a shape; for `any` and `unknown`, a schema that accepts everything."""
    if shape.kind == "union":
        return _schema_of_union(shape)
    kind = _SCHEMA_TYPES.get(shape.kind)
    if kind is None or any(below.kind == "callable" for _, below in shape.keys):
        return {}  # a value with methods is an object
    schema: dict[str, Any] = {"type": kind}
    if takes_null(shape):
        schema["type"] = [*_listed(kind), "null"]
    if shape.kind == "list" and shape.element is not None:
        schema["items"] = schema_of_shape(shape.element)
    if shape.kind == "mapping":
        if shape.keys:
            schema["properties"] = {name: schema_of_shape(below) for name, below in shape.keys}
            required = [name for name, below in shape.keys if not below.optional]
            if required:
                schema["required"] = required
            if conditions := conditions_of_keys(shape.keys):
                schema["allOf"] = conditions
        if shape.element is not None:
            schema["additionalProperties"] = schema_of_shape(shape.element)
    return schema


def takes_null(shape: Shape) -> bool:
    """Return whether a value may be null; where it must not be, conditions say so."""
    return shape.optional and (bool(shape.needed) or not shape.refuses_null)


def _schema_of_union(shape: Shape) -> dict[str, Any]:
    """Return the schema of a value that has one of several shapes."""
    choices = [schema_of_shape(each) for each in shape.alternatives]
    if not all(choices):
        return {}
    if takes_null(shape):
        choices.append({"type": "null"})
    if all(choice.keys() == {"type"} for choice in choices):
        return {"type": [kind for choice in choices for kind in _listed(choice["type"])]}
    return {"anyOf": choices}


def _listed(kinds: Any) -> list[Any]:
    return kinds if isinstance(kinds, list) else [kinds]


def given_data(snapshot: Snapshot, path: str) -> tuple[Mapping[str, Any], ...]:
    """Return the data that the file itself provides: its samples, its examples, and a row of its dataset."""
    template = snapshot.template(path)
    try:
        samples = samples_of(snapshot, path) if template is not None else ()
    except UserError:
        return tuple(example.data for example in template.declarations.examples) if template else ()
    return tuple(sample.data for sample in samples if sample.name != "placeholders")


_WORDS: Final = re.compile(r"[A-Za-z0-9]+")
_SCALARS: Final = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}
_MODEL_NAMES: Final = frozenset(
    {"construct", "copy", "dict", "fields", "from_orm", "json", "parse_file", "parse_obj", "parse_raw",
     "schema", "schema_json", "update_forward_refs", "validate"}
)  # fmt: skip
"""Names that pydantic's models define themselves."""
_NEW_TYPING: Final = """
if sys.version_info >= (3, 12):
    from typing import {0}
else:
    from typing_extensions import {0}"""
"""Pydantic does not support the `TypedDict` of older Python versions."""


@dataclass(frozen=True, slots=True)
class ClassField:
    """A field of a class: its type as Python source, and its description."""

    name: str
    type: str
    is_required: bool
    description: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Class:
    """A class to generate."""

    name: str
    documentation: str
    fields: tuple[ClassField, ...]


@dataclass(slots=True)
class _Classes:
    """The classes generated so far, nested classes first; the names are unique."""

    made: list[Class] = field(default_factory=list)

    def add(self, name: str, schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
        """Add the class for an object's schema, and return its name."""
        properties = schema.get("properties") or {}
        required = set(schema.get("required") or ())
        fields = [
            self._field(key, below if isinstance(below, dict) else {}, name, is_required=key in required)
            for key, below in properties.items()
        ]
        fields += [ClassField(key, "Callable[..., object]", True, "", None) for key in functions]  # noqa: FBT003
        taken = {each.name for each in self.made}
        final, number = name, 2
        while final in taken:
            final, number = f"{name}{number}", number + 1
        self.made.append(Class(final, str(schema.get("description") or ""), tuple(fields)))
        return final

    def _field(self, key: str, schema: Mapping[str, Any], around: str, *, is_required: bool) -> ClassField:
        kind = self.type_of(schema, f"{around.removesuffix('Inputs')}{class_name(key)}")
        default = repr(schema["default"]) if "default" in schema else None
        return ClassField(key, kind, is_required, str(schema.get("description") or ""), default)

    def type_of(self, schema: Any, name: str) -> str:
        """Return the Python type of a schema's values, as source code."""
        if not isinstance(schema, dict):
            return "Any"
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            values = schema["enum"]
            if all(value is None or isinstance(value, (str, int, bool)) for value in values):
                return f"Literal[{', '.join(map(repr, values))}]"
            return "Any"
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return _join([self.type_of(choice, name) for choice in schema[word]])
        kinds = schema.get("type")
        named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        return _join([each for kind in named for each in self._of_type(str(kind), schema, name)])

    def _of_type(self, kind: str, schema: Mapping[str, Any], name: str) -> list[str]:
        if kind == "array":
            items = schema.get("items")
            return [f"list[{self.type_of(items, f'{name}Item')}]"]
        if kind == "object" and isinstance(schema.get("properties"), dict) and schema["properties"]:
            return [self.add(name, schema)]
        if kind == "object":
            return [f"dict[str, {self.type_of(schema.get('additionalProperties'), f'{name}Value')}]"]
        return ["int", "float"] if kind == "number" else [_SCALARS.get(kind, "Any")]


def _join(types: list[str]) -> str:
    """Return the union of types.

    `Any` if there are no types, or one of them is `Any`.
    """
    single = [each for joined in types for each in _split(joined)]
    return "Any" if "Any" in single else " | ".join(dict.fromkeys(single)) or "Any"


def _split(joined: str) -> list[str]:
    """Return the types of a union, split outside of brackets."""
    if joined.count("[") == joined.count("]") == 0:
        return joined.split(" | ")
    return [joined]


def class_name(text: str) -> str:
    """Return a class name derived from a text: `support_triage` gives `SupportTriage`."""
    made = "".join(upper_first(word) for word in _WORDS.findall(text))
    return made if made and not made[0].isdigit() else f"Prompt{made}"


def pydantic_source(schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
    """Return a module with one pydantic model for each mapping of the schema, the outermost last."""
    body = "\n\n\n".join(map(_model, _made(schema, functions)))
    fields = ", Field" if "Field(" in body else ""
    config = ", ConfigDict" if "ConfigDict(" in body else ""
    return f"{_head(schema, body)}\nfrom pydantic import BaseModel{config}{fields}\n\n\n{body}\n"


def typed_dict_source(schema: Mapping[str, Any], functions: Iterable[str] = ()) -> str:
    """Return a module with a `TypedDict` for each mapping of the schema, the outermost last."""
    body = "\n\n\n".join(map(_typed_dict, _made(schema, functions)))
    names = ", ".join(name for name in ("NotRequired", "TypedDict") if re.search(rf"\b{name}\b", body))
    return f"{_head(schema, body, importing=_NEW_TYPING.format(names))}\n\n{body}\n"


def _made(schema: Mapping[str, Any], functions: Iterable[str]) -> list[Class]:
    classes = _Classes()
    stem = str(schema.get("title") or "prompt").split(".")[0]
    classes.add(f"{class_name(stem)}Inputs", schema, functions)
    return classes.made


def _head(schema: Mapping[str, Any], body: str, *, importing: str = "") -> str:
    lines = ["import sys"] if importing else []
    if "Callable[" in body:
        lines.append("from collections.abc import Callable")
    imported = [name for name in ("Any", "Literal") if re.search(rf"\b{name}\b", body)]
    if imported:
        lines.append(f"from typing import {', '.join(imported)}")
    lines += [importing] if importing else []
    title = _plain(str(schema.get("title") or "a prompt"))
    return "\n".join([f'"""The inputs of `{title}`."""', "", *lines, *([""] if lines else [])])


def _plain(text: str) -> str:
    """Return the text on one line, escaped for a triple-quoted string."""
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")


def _documentation(described: str) -> list[str]:
    return [f'    """{_plain(described)}"""', ""] if described else []


def _model(made: Class) -> str:
    lines = [f"class {made.name}(BaseModel):", *_documentation(made.documentation)]
    names: dict[str, ClassField] = {}
    for each in made.fields:
        name = _attribute(each.name)
        while name in names:
            name += "_"
        names[name] = each
    members = [_member(name, each) for name, each in names.items()]
    if any("alias=" in member for member in members):
        lines += ["    model_config = ConfigDict(populate_by_name=True)", ""]
    return "\n".join([*lines, *(members or ["    pass"])])


def _member(name: str, each: ClassField) -> str:
    settings = [f"alias={json.dumps(each.name)}"] if name != each.name else []
    if each.description:
        settings.append(f"description={json.dumps(each.description, ensure_ascii=False)}")
    kind, value = each.type, each.default
    if value is None and not each.is_required:
        kind, value = _or_none(kind), "None"
    if value is not None and settings:
        settings.insert(0, f"default={value}")
    if settings:
        return f"    {name}: {kind} = Field({', '.join(settings)})"
    return f"    {name}: {kind}" + (f" = {value}" if value is not None else "")


def _or_none(kind: str) -> str:
    return kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"


def _attribute(key: str) -> str:
    """Return a valid attribute name in pydantic for a key."""
    name = re.sub(r"\W", "_", key).lstrip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    if keyword.iskeyword(name) or name in _MODEL_NAMES or name.startswith("model_"):
        name = f"{name}_"
    return f"input_{name}" if name.startswith("model_") else name


def _typed_dict(made: Class) -> str:
    fields = [
        (each.name, each.type if each.is_required else f"NotRequired[{each.type}]", each.description)
        for each in made.fields
    ]
    if any(not name.isidentifier() or keyword.iskeyword(name) for name, _, _ in fields):
        items = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {kind}" for name, kind, _ in fields)
        return f'{made.name} = TypedDict("{made.name}", {{{items}}})'
    lines = [f"class {made.name}(TypedDict):", *_documentation(made.documentation)]
    for name, kind, description in fields:
        lines.append(f"    {name}: {kind}")
        if description:
            lines.append(f'    """{_plain(description)}"""')
    return "\n".join(lines if fields else [*lines, "    pass"])


CONTRACT: Final = "promptls.contract"
FORMATS: Final = {"json-schema": "a JSON Schema", "pydantic": "a pydantic model", "typeddict": "a TypedDict"}
"""The names of the formats, and their display names."""


def contract_actions(snapshot: Snapshot, path: str, offset: int) -> tuple[Action, ...]:
    """Return the commands that show the inputs of the file at `path` in each format.

    They are offered in `input_keys`, and where an input is read.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    declared = template.declarations.value_span("input_keys")
    if not (declared and declared.touches(offset)) and not any(
        reference.is_input and reference.span.touches(offset)
        for reference in template.names.references_in(offset)
    ):
        return ()
    return tuple(
        Action(f"Show the inputs as {description}", CONTRACT, {"format": form, "show": True})
        for form, description in FORMATS.items()
    )


def contract_text(snapshot: Snapshot, path: str, form: str) -> str:
    """Return the inputs of the file at `path` in one of `FORMATS`, with a final line break."""
    schema = contract_schema(snapshot, path)
    if form == "json-schema":
        return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    functions = [each.name for each in inputs_of(snapshot, path) if each.shape.kind == "callable"]
    source = pydantic_source if form == "pydantic" else typed_dict_source
    return source(schema, functions)
