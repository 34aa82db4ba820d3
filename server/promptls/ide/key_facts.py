"""The keys that a mapping may have, with their types and documentation."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from promptls.dialects import KeyFact, optional, required_key, table
from promptls.dialects.opencompass import vocabulary as opencompass
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES, SECTION_KEYS
from promptls.dialects.ragas.prompt_object import OUTPUT_TYPES, PROMPT_KEYS
from promptls.semantic.flow.paths import Each, Path
from promptls.semantic.header import DeclaredInput
from promptls.semantic.kind import Kind
from promptls.semantic.setting_names import is_model
from promptls.semantic.template import Template
from promptls.settings.header import Header, InputKey
from promptls.syntax.yaml.expected import ITEM
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

NO_KEYS: Final[Mapping[str, KeyFact]] = {}
_SCHEMA_FACTS: Final = (
    ("type", "text", "JSON Schema type: `string`, `array`, `object`, …"),
    ("description", "text", "A description for people."),
    ("default", "any value", "The default value."),
    ("enum", "list", "The allowed values."),
    ("items", "mapping", "The schema of the elements."),
    ("properties", "mapping", "The schemas of the values, by key."),
    ("required", "list of names", "The required keys."),
    ("additionalProperties", "yes or no", "Whether other keys are allowed."),
    ("minItems", "integer", "The minimum number of elements."),
    ("maxItems", "integer", "The maximum number of elements."),
    ("minLength", "integer", "The minimum number of characters."),
    ("maxLength", "integer", "The maximum number of characters."),
    ("minimum", "number", "The minimum of a number."),
    ("maximum", "number", "The maximum of a number."),
    ("pattern", "text", "A regular expression that a text must match."),
    ("format", "text", "The format of a text, such as `date` or `email`."),
    ("anyOf", "list of mappings", "Schemas; at least one must match."),
    ("const", "any value", "The only allowed value."),
)
SCHEMA_KEYS: Final = table(*(optional(*fact) for fact in _SCHEMA_FACTS))
"""The keywords of JSON Schema that describe inputs and outputs."""
_TYPE_WORDS: Final = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "yes or no",
    list: "list",
    dict: "mapping",
}
_EVALUATION_TABLES: Final[dict[str, Mapping[str, KeyFact]]] = {
    "ice_template": opencompass.TEMPLATE_KEYS,
    "prompt_template": opencompass.TEMPLATE_KEYS,
    "retriever": opencompass.RETRIEVER_KEYS,
    "inferencer": opencompass.INFERENCER_KEYS,
    "reader_cfg": opencompass.READER_KEYS,
    "infer_cfg": opencompass.INFER_KEYS,
    "meta_template": opencompass.META_KEYS,
}
_MESSAGE_KEYS: Final = table(
    required_key("role", "text", "Who speaks: `system`, `user` or `assistant`."),
    required_key("content", "text", "The text of the message, with `{column}` fields."),
)


def keys_at(kind: Kind, path: tuple[str, ...], *, in_header: bool) -> Mapping[str, KeyFact]:
    """Return the keys that the mapping at `path` may have.

    Empty if the keys are user-defined, or unknown.

    `path` consists of keys, and `-` for list items; in a header it is relative to the header's root.
    """
    if in_header:
        return _header(path)
    if kind in {Kind.PARTS, Kind.SECTION}:
        if path == (ITEM,):
            return PART_KEYS
        return SECTION_KEYS if path == (ITEM, "sections", ITEM) else NO_KEYS
    if kind is Kind.OBJECT:
        return {**_model_keys(Header), **PROMPT_KEYS} if not path else _header(path)
    if kind is Kind.EVALUATION:
        if not path:
            return {**_model_keys(Header), **opencompass.INFER_KEYS, **opencompass.EVALUATION_KEYS}
        return _evaluation(path) or _header(path)
    return NO_KEYS


def fact_at(kind: Kind, keys: tuple[str, ...], *, in_header: bool) -> KeyFact | None:
    """Return the description of the key at the path `keys`."""
    return keys_at(kind, keys[:-1], in_header=in_header).get(keys[-1]) if keys else None


def _header(path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    match path:
        case ("input_keys", _):
            return {**SCHEMA_KEYS, **_model_keys(InputKey)}
        case ("input_keys", _, *below) | ("experiments", _, "json_schema", *below):
            return _schema(tuple(below))
        case ("output_schema", *below):
            return _schema(tuple(below))
    return model_keys_at(Header, path)


def _schema(path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    """Return the keywords of a nested schema; empty if its keys are property names."""
    index = 0
    while index < len(path):
        if path[index] in {"properties", "patternProperties", "$defs", "definitions"} or (
            path[index] in {"anyOf", "oneOf", "allOf"} and path[index + 1 : index + 2] == (ITEM,)
        ):
            index += 2
        elif path[index] in {"items", "additionalProperties", "not"}:
            index += 1
        else:
            return NO_KEYS
    return SCHEMA_KEYS if index == len(path) else NO_KEYS


def _evaluation(path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    path = path[1:] if path[0] == "infer_cfg" and len(path) > 1 else path
    if len(path) == 1:
        return _EVALUATION_TABLES.get(path[0], NO_KEYS)
    if path[0] == "meta_templates" and len(path) > 1:
        # Each of its values is a named meta template.
        path = ("meta_template", *path[2:])
        if len(path) == 1:
            return opencompass.META_KEYS
    if path[0] == "meta_template":
        is_role = path[1:] in {("round", ITEM), ("reserved_roles", ITEM)}
        return opencompass.META_ROLE_KEYS if is_role else NO_KEYS
    if path[0] not in {"ice_template", "prompt_template"}:
        return NO_KEYS
    rest = path[1:]
    if rest == ("messages", ITEM):
        return _MESSAGE_KEYS
    if rest[0] != "template":
        return NO_KEYS
    for dialogue in (rest[1:], rest[2:]):
        if not dialogue and rest[1:2] != (ITEM,):
            return opencompass.DIALOGUE_KEYS
        if dialogue in {("round", ITEM), ("begin", ITEM), ("end", ITEM)}:
            return opencompass.TURN_KEYS
    return NO_KEYS


class Declared(NamedTuple):
    """What a pydantic model declares at a path: a type other than None, a default, and a description."""

    type: Any
    default: Any = None
    documentation: str = ""


def declared_at(model: type[BaseModel], path: tuple[str, ...]) -> Declared | None:
    """Return what a model declares at a path of keys, with `-` for list items; None if it is nothing."""
    found = Declared(model)
    for key in path:
        field = getattr(found.type, "model_fields", {}).get(key)
        if field is not None:
            default = None if field.is_required() or field.default_factory else field.default
            found = Declared(_present(field.annotation), default, field.description or "")
        elif get_origin(found.type) in {dict, list} and (inside := _present(get_args(found.type)[-1])) != Any:
            found = Declared(inside, documentation=(is_model(inside) and inside.__doc__) or "")
        else:
            return None
    return found


def model_keys_at(model: type[BaseModel], path: tuple[str, ...]) -> Mapping[str, KeyFact]:
    """Return the keys that a model declares for the mapping at `path`; none if they are user-defined."""
    found = declared_at(model, path)
    return _model_keys(found.type) if found is not None and is_model(found.type) else NO_KEYS


def _present(annotation: Any) -> Any:
    """Return an annotation without its constraints, and the first one of a union."""
    if get_origin(annotation) in {Annotated, Union, types.UnionType}:
        return _present(get_args(annotation)[0])
    return annotation


@lru_cache(maxsize=16)
def _model_keys(model: Any) -> Mapping[str, KeyFact]:
    return table(
        *(
            KeyFact(name, field.is_required(), describe_type(field.annotation), field.description or "")
            for name, field in model.model_fields.items()
        )
    )


def describe_type(annotation: Any) -> str:
    """Return the type of an annotation as text, such as `list of texts or mapping`."""
    origin = get_origin(annotation)
    if is_model(annotation):
        return "mapping"
    if origin is Literal:
        return in_code(get_args(annotation), " or ")
    if origin is Annotated:
        return describe_type(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        return " or ".join(
            dict.fromkeys(describe_type(each) for each in get_args(annotation) if each is not type(None))
        )
    known = _TYPE_WORDS.get(origin or annotation, "any value")
    if origin is list:
        inside = describe_type(get_args(annotation)[0])
        return {"text": "list of texts", "mapping": "list of mappings"}.get(inside, "list")
    return known


def schema_along(inputs: Iterable[DeclaredInput], path: Path) -> dict[str, Any]:
    """Return the JSON Schema of the value at a path from one of the inputs; empty if none is declared."""
    schema: Any = next((key.schema for key in inputs if path and key.name == path[0].key), {})
    for step in path[1:]:
        if not isinstance(schema, dict):
            return {}
        properties = schema.get("properties")
        if isinstance(step.key, str):
            schema = properties.get(step.key) if isinstance(properties, dict) else None
        else:
            schema = schema.get("additionalProperties" if step.key is Each.VALUE else "items")
    return schema if isinstance(schema, dict) else {}


def declared_schema(snapshot: Snapshot, path: str, access_path: Path) -> tuple[str, dict[str, Any]]:
    """Return the schema of the value, and the file that declares it: `path` or an entry template."""
    for candidate in dict.fromkeys([path, *snapshot.entries(path)]):
        template = snapshot.template(candidate)
        declared = template.declarations.inputs if template is not None else ()
        schema = schema_along(declared, access_path)
        if schema:
            return candidate, schema
    return path, {}


def value_at(data: Any, path: Path) -> Any:
    """Return the value at a path in some data, following the first element of each list.

    None if there is none.

    For a list of mappings, the followed element has the keys of all of them.
    """
    value = data
    for step in path:
        if isinstance(step.key, str):
            value = value.get(step.key) if isinstance(value, dict) else None
        elif isinstance(value, dict):
            value = next(iter(value.values()), None) if step.key is Each.VALUE else None
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            value = {key: each[key] for each in reversed(value) for key in each}
        else:
            value = value[0] if isinstance(value, list) and value else None
        if value is None:
            return None
    return value


def bare_span(template: Template, span: Span, text: str) -> Span | None:
    """Return the span of a scalar without its quotes; None if it is not on one line."""
    written = template.source.slice(span)
    if written == text:
        return span
    if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"" and "\n" not in written:
        return Span(span.start + 1, span.end - 1)
    return None


JSON_TYPES: Final = {
    "string": "Text.",
    "integer": "A whole number.",
    "number": "Any number.",
    "boolean": "`true` or `false`.",
    "array": "A list.",
    "object": "A mapping.",
    "null": "Nothing.",
}
_KNOWN_VALUES: Final[dict[str, tuple[Mapping[str, str], ...]]] = {
    "role": (ROLES, opencompass.DIALOGUE_ROLES),
    "fallback_role": (opencompass.DIALOGUE_ROLES,),
    "output_type": (OUTPUT_TYPES,),
    "type": (opencompass.RETRIEVERS, opencompass.INFERENCERS, opencompass.TEMPLATE_TYPES, JSON_TYPES),
}


def known_value(path: tuple[str, ...], name: str) -> str:
    """Return the description of the value `name` at `path`; empty if it is unknown."""
    last = next((key for key in reversed(path) if key != ITEM), "")
    return next((values[name] for values in _KNOWN_VALUES.get(last, ()) if name in values), "")
