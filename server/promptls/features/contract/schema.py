"""The inputs of a template as a JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from promptls.features.contract.fitting import fitted, lacked
from promptls.features.contract.needed_where import conditions_of_keys
from promptls.meaning.given import given_value
from promptls.meaning.shape import Shape
from promptls.rendering.samples import samples_of
from promptls.text.failure import Failure
from promptls.workspace.contract import NeededInput, inputs_of
from promptls.workspace.snapshot import Snapshot

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final[dict[str, Any]] = {
    "scalar": ["string", "number", "boolean"],
    "text": "string",
    "number": "number",
    "boolean": "boolean",
    "list": "array",
    "mapping": "object",
}


def contract_schema(snapshot: Snapshot, path: str) -> dict[str, Any]:
    """A JSON Schema for the data that the file at `path` is rendered with, includes and all.

    It accepts the file's own samples and examples: where those do not fit what is inferred, less
    is said. What is declared is taken over as it is. Functions are left out, because data has none.
    """
    inputs = [each for each in inputs_of(snapshot, path) if each.shape.kind != "callable"]
    given = given_data(snapshot, path)
    shapes = [(each.name, _fitted(each, given)) for each in inputs]
    properties = {each.name: input_schema(each, given) for each in inputs}
    template = snapshot.template(path)
    described = template.declarations.data.get("description") if template else None
    schema: dict[str, Any] = {"$schema": DIALECT, "title": Path(path).name}
    if isinstance(described, str):
        schema["description"] = described
    schema |= {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in inputs if is_required(each, given)],
    }
    if conditions := conditions_of_keys(shapes):
        schema["allOf"] = conditions
    return schema


def is_required(each: NeededInput, given: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a caller must give an input: it is read without a guard, and all given data has it."""
    is_read = bool(each.places) or each.declared is not None
    return is_read and not each.shape.optional and all(each.name in data for data in given)


def input_schema(each: NeededInput, given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of one input: what is declared, and what is inferred where nothing is."""
    inferred = schema_of_shape(_fitted(each, given))
    if not each.schema:
        return inferred
    if "type" in each.schema and _types(each.schema["type"]) != _types(inferred.get("type")):
        return dict(each.schema)
    if "type" not in each.schema and any(key in each.schema for key in ("enum", "const", "anyOf", "$ref")):
        return dict(each.schema)
    return {**inferred, **each.schema}


def _fitted(each: NeededInput, given: Iterable[Mapping[str, Any]]) -> Shape:
    """What is known of an input, made to fit what the file itself gives."""
    shape = each.shape
    for data in given:
        if each.name in data:
            shape = fitted(shape, data[each.name])
        elif shape.needed:
            shape = lacked(shape, dict(given_value(data).keys))
    return shape


def _types(value: Any) -> set[str]:
    return set(map(str, _listed(value))) - {"null"}


def schema_of_shape(shape: Shape) -> dict[str, Any]:
    """The schema of the values of a shape; of `any` and `unknown` one that accepts everything."""
    if shape.kind == "union":
        return _schema_of_union(shape)
    kind = _TYPES.get(shape.kind)
    if kind is None or any(below.kind == "callable" for _, below in shape.keys):
        return {}  # what has methods is an object of a class
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
    """Whether None may be given for a value; where it is needed, conditions say that it may not."""
    return shape.optional and (bool(shape.needed) or not shape.refuses_null)


def _schema_of_union(shape: Shape) -> dict[str, Any]:
    """The schema of a value that is of one of several shapes."""
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
    """The data that the file itself gives: its samples, its examples, and a row of its data set."""
    template = snapshot.template(path)
    try:
        samples = samples_of(snapshot, path) if template is not None else ()
    except Failure:
        return tuple(example.data for example in template.declarations.examples) if template else ()
    return tuple(sample.data for sample in samples if sample.name != "placeholders")
