"""Declared JSON Schemas: their validity, and whether uses of a value match its declared type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.lint.analysis.loop_names import plurals
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import Edit, File, Finding, Fix
from promptls.semantic.flow.paths import Each, Path, Step
from promptls.semantic.flow.tag_flow import unplaced_events
from promptls.semantic.flow.use import Compared, Use
from promptls.semantic.header import DeclaredInput
from promptls.semantic.object_data import holds_printed, plain_data
from promptls.semantic.types.schemas import invalid_schema, schema_fault
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.syntax.yaml.nodes import Node, Scalar, Sequence, key_text, nearest_node_at, scalar_text
from promptls.text.format import first_of
from promptls.text.positions import NOWHERE, Span
from promptls.text.suggest import is_typo, nearest

_PYTHON: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""The Python types for the values of each JSON type."""
_MAX_MESSAGE: Final = 160
_PLAIN: Final = frozenset({"type", "description", "default", "examples", "title", "format"})
_ALLOWED: Final = {
    "iterated": frozenset({"string", "array", "object"}),
    "called": frozenset[str](),
    "number": frozenset({"integer", "number", "boolean"}),
    "text": frozenset({"string"}),
    "mapping": frozenset({"object"}),
    "printed": frozenset({"string", "integer", "number", "boolean", "null"}),
}
_WORDS: Final = {
    "iterated": "which is not iterable",
    "called": "which cannot be called",
    "number": "which is not a number",
    "text": "which is not a text",
    "mapping": "which has no keys",
    "printed": "which is printed in the notation of Python",
}


_ELEMENTS: Final = frozenset({Each.ELEMENT, Each.VALUE})
_MIN_LENGTH: Final = 3
"""The minimum length of a name that can be recognized as a typo."""


class UseProblem(NamedTuple):
    """What is wrong with a use of a value.

    `is_of_keys` is whether the variable of a loop over a mapping is used like a value of it. With `may_be_there`, the
    value may have the key, although the declaration does not name it.
    """

    message: str
    is_of_keys: bool = False
    may_be_there: bool = False


def wrong_use(schema: Any, use: Use) -> UseProblem | None:
    """Return what is certainly wrong with a use of a value, or None.

    `schema` is the schema of the variable at the start of the use's path.
    """
    for index, step in enumerate(use.path[1:], start=1):
        types = declared_types(schema)
        if types is None:
            return None
        above, inside = use.path[:index], use.path[index + 1 :]
        if isinstance(step.key, str):
            if not _has_key(schema, types, step.key):
                is_reported = any(each.key in _ELEMENTS for each in inside)  # at the start of the loop
                return None if is_reported else _without_key(above, types, schema, step.key)
            if types == {"object"} and is_undeclared(schema, step.key):
                message = f"the declaration of `{path_text(above)}` has no property `{step.key}`"
                return UseProblem(message, may_be_there=True)
        elif step.key is Each.ELEMENT and types == {"object"} and _is_key_of_text(inside):
            message = f"{declared_as(above, types)}: a loop over it gives its keys, which are texts"
            return UseProblem(message, is_of_keys=True)
        elif not types <= _element_types(step.key):
            # A loop over a value without elements is reported at the start of the loop.
            is_reported = step.key is not Each.INDEX or bool(types & _element_types(step.key))
            return None if is_reported else UseProblem(f"{declared_as(above, types)}, which has no elements")
        schema = below(schema, types, step.key)
    types = declared_types(schema)
    return _unmet_need(schema, types, use) if types is not None and use.need else None


def _unmet_need(schema: Any, types: frozenset[str], use: Use) -> UseProblem | None:
    if use.need.startswith("."):
        attribute = use.need[1:]
        is_met = _has_key(schema, types, attribute)
        return None if is_met else _without_key(use.path, types, schema, attribute)
    if types & _ALLOWED[use.need]:
        return None
    return UseProblem(f"{declared_as(use.path, types)}, {_WORDS[use.need]}")


def _without_key(path: Path, types: frozenset[str], schema: Any, key: str) -> UseProblem:
    meant = typo_of(schema, key)
    advice = f"; did you mean `{meant}`?" if meant else ""
    return UseProblem(f"{declared_as(path, types)}, which has no `{key}`{advice}")


def meant_key(schema: Any, use: Use) -> tuple[str, str] | None:
    """Return the last key of a use and the declared key that it is a typo of; None if it is not a typo."""
    schema, key = schema_along(schema, use.path[1:-1]), use.path[-1].key
    if not isinstance(schema, Mapping) or not isinstance(key, str) or len(use.path) == 1:
        return None
    meant = typo_of(schema, key)
    return (key, meant) if meant is not None and lacks_property(schema, key) else None


def declared_types(schema: Any) -> frozenset[str] | None:
    """Return the JSON types that a schema allows, without `null`; None if it does not restrict them."""
    if not isinstance(schema, Mapping):
        return None
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    types = frozenset(kind for kind in named if isinstance(kind, str) and kind != "null")
    return types if types and types <= _PYTHON.keys() else None


def is_of_type(value: Any, types: frozenset[str]) -> bool:
    """Return whether a value has one of the JSON types."""
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return True
    return any(isinstance(value, python) for kind in types - {"boolean"} for python in _PYTHON[kind])


class ValueProblem(NamedTuple):
    """What is wrong with a value, and its place: the name of the input, and keys and indexes below it."""

    message: str
    path: tuple[str | int, ...]


def mismatch(path: tuple[str | int, ...], value: Any, schema: Mapping[str, Any]) -> ValueProblem | None:
    """Return how the value of an input differs from its declared type or `enum`; None if it may fit.

    Items and properties are compared with their schemas too.
    """
    types = declared_types(schema)
    if types is not None and value is not None and not is_of_type(value, types):
        return ValueProblem(f"`{_place_text(path)}` is {_shown(value)}, and not {_type_names(types)}", path)
    allowed = schema.get("enum")
    if isinstance(allowed, list) and isinstance(value, str) and value not in allowed:
        options = ", ".join(f"`{each}`" for each in allowed)
        return ValueProblem(f"`{_place_text(path)}` is `{value}`, and not one of {options}", path)
    if (beyond := _beyond_bounds(path, value, schema)) is not None:
        return beyond
    return next(filter(None, _mismatches_below(path, value, schema)), None)


def _beyond_bounds(path: tuple[str | int, ...], value: Any, schema: Mapping[str, Any]) -> ValueProblem | None:
    """Return how the size of a list or text, or a number, is beyond its declared bounds."""
    match value:
        case bool():
            return None
        case int() | float():
            size, unit, keywords = value, "", ("minimum", "maximum")
        case str():
            size, unit, keywords = len(value), " characters", ("minLength", "maxLength")
        case list():
            size, unit, keywords = len(value), " items", ("minItems", "maxItems")
        case _:
            return None
    low, high = (schema.get(keyword) for keyword in keywords)
    is_above = isinstance(high, int | float) and size > high
    if not is_above and not (isinstance(low, int | float) and size < low):
        return None
    keyword = keywords[is_above]
    verb = "has" if unit else "is"
    message = f"`{_place_text(path)}` {verb} {size}{unit}, and `{keyword}` is {schema[keyword]}"
    return ValueProblem(message, path)


def _mismatches_below(
    path: tuple[str | int, ...], value: Any, schema: Mapping[str, Any]
) -> Iterator[ValueProblem | None]:
    """Yield the problem of each item and property of a value; None for those that may fit."""
    items, properties = schema.get("items"), schema.get("properties")
    if isinstance(value, list) and isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield mismatch((*path, index), item, items)
    if isinstance(value, dict) and isinstance(properties, Mapping):
        for key, inner in value.items():
            own = properties.get(key)
            if isinstance(own, Mapping):
                yield mismatch((*path, str(key)), inner, own)
            elif key not in properties:
                meant = typo_of(schema, str(key)) or _only_other(properties, value, str(key))
                if meant and meant not in value:
                    message = f"`{_place_text(path)}` has `{key}`, and no `{meant}`"
                    yield ValueProblem(message, (*path, str(key)))


def _place_text(path: tuple[str | int, ...]) -> str:
    below = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
    return f"{path[0]}{''.join(below)}"


def _only_other(properties: Mapping[str, Any], value: Mapping[str, Any], key: str) -> str | None:
    """Return the only property that a value lacks, if `key` is its only other key and begins in the same way."""
    missing = [str(each) for each in properties if each not in value]
    if len(missing) != 1 or sum(each not in properties for each in value) != 1:
        return None
    shorter, longer = sorted((key, missing[0]), key=len)
    return missing[0] if longer.startswith(f"{shorter}_") else None


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _is_key_of_text(rest: Path) -> bool:
    """Return whether a path continues with a key or attribute that texts do not have."""
    return bool(rest) and isinstance(rest[0].key, str) and not hasattr(str, rest[0].key)


def _element_types(key: object) -> frozenset[str]:
    if key is Each.VALUE:
        return frozenset({"object"})
    return frozenset({"string", "array", "object"})


def _has_key(schema: Mapping[str, Any], types: frozenset[str], key: str) -> bool:
    """Return whether a value of one of the types may have an attribute or key of this name."""
    if "object" in types and not lacks_property(schema, key):
        return True
    return any(hasattr(python, key) for kind in types for python in _PYTHON[kind])


def lacks_property(schema: Mapping[str, Any], key: str) -> bool:
    """Return whether `key` is a typo of a declared property, or undeclared in a closed schema."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or key in properties:
        return False
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return is_closed or typo_of(schema, key) is not None


def is_undeclared(schema: Mapping[str, Any], key: str) -> bool:
    """Return whether the properties of a mapping are declared, but not this one, which is no method either."""
    properties = schema.get("properties")
    is_open = not {"additionalProperties", "patternProperties"}.isdisjoint(schema)
    is_named = not isinstance(properties, Mapping) or not properties or key in properties
    return not is_named and not is_open and not hasattr(dict, key)


def typo_of(schema: Any, key: str) -> str | None:
    """Return the declared property that `key` is probably a typo of, or None."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(key) < _MIN_LENGTH:
        return None
    return next((name for name in map(str, properties) if is_typo(key, name)), None)


def below(schema: Mapping[str, Any], types: frozenset[str], key: object) -> Any:
    """Return the schema of the value that a step of a path leads to; None if it is not declared."""
    if len(types) > 1:
        return None
    if isinstance(key, str):
        if any(hasattr(python, key) for kind in types for python in _PYTHON[kind]):
            return None  # it may be a method
        properties = schema.get("properties")
        return properties.get(key) if isinstance(properties, Mapping) else None
    if key is Each.VALUE:
        return schema.get("additionalProperties") if "properties" not in schema else None
    return schema.get("items") if types == {"array"} else None


def path_text(path: Path) -> str:
    """Return a path in readable form: `history[…].author`."""
    return str(path[0].key) + "".join(
        f".{step.key}" if isinstance(step.key, str) else "[…]" for step in path[1:]
    )


def declared_as(path: Path, types: frozenset[str]) -> str:
    """Return the beginning of a message: the declared types of the value at a path."""
    return f"`{path_text(path)}` is declared as {_type_names(types)}"


def _type_names(types: frozenset[str]) -> str:
    return " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in sorted(types))


def plainly_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether the value certainly matches a schema with little more than a type.

    This avoids validation with jsonschema, which is slow.
    """
    types = declared_types(schema)
    return types is not None and schema.keys() <= _PLAIN and is_of_type(value, types)


_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_SYNONYMS: Final = {
    "bool": "boolean",
    "dict": "object",
    "float": "number",
    "int": "integer",
    "list": "array",
    "map": "object",
    "mapping": "object",
    "str": "string",
    "text": "string",
    "tuple": "array",
}
"""Names of types in Python and prose."""
_KEYWORDS: Final = (
    "type", "description", "default", "enum", "const", "examples", "items", "properties", "required",
    "additionalProperties", "patternProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "format", "title", "anyOf", "allOf", "oneOf",
)  # fmt: skip


def keywords_problems(schema: Node | None) -> Iterator[Finding]:
    """Yield the mistakes in a single schema, such as that of the output."""
    wrong = list(_of_schema(schema)) if schema is not None else []
    yield from wrong
    if wrong or not isinstance(schema, MappingNode) or holds_printed(schema):
        return
    data = plain_data(schema)
    if data.keys() <= _PLAIN and declared_types(data):
        return  # it need not be validated, which is slow
    reason, path = invalid_schema(data)
    if reason:
        yield Finding(nearest_node_at(schema, path).span, f"this is not a JSON Schema: {reason}")


def _wrong_type(node: Node) -> Finding:
    written = scalar_text(node) or ""
    meant = _SYNONYMS.get(written.lower())
    if meant is not None:
        message = f"JSON Schema has no type `{written}`; did you mean `{meant}`?"
        return Finding(node.span, message, (Fix.change_to(node.span, meant, preferred=True),))
    found = misspelled(node.span, f"JSON Schema has no type `{written}`", written, _TYPES)
    return _quote(found) if nearest(written, _TYPES) == "null" else found


def _quote(finding: Finding) -> Finding:
    """Return the finding with quotes in its fix, because an unquoted `null` is not a string in YAML."""
    fixes = [
        Fix(fix.title, tuple(Edit(edit.span, f"'{edit.text}'") for edit in fix.edits), fix.preferred)
        for fix in finding.fixes
    ]
    return replace(finding, fixes=tuple(fixes))


def schema_problems(inputs: Node | None) -> Iterator[Finding]:
    """Yield the mistakes in the schemas under `input_keys`."""
    if isinstance(inputs, MappingNode):
        for entry in inputs.entries:
            yield from list(keywords_problems(entry.value)) or _of_default(entry.value)


def _of_default(schema: Node) -> Iterator[Finding]:
    """Yield the default of a schema if the schema does not allow it."""
    entry = schema.entry("default") if isinstance(schema, MappingNode) else None
    if entry is None or holds_printed(schema):
        return
    data = plain_data(schema)
    value = data["default"]
    if value is None or plainly_fits(value, data):
        return
    wrong, fault_path = schema_fault(value, {key: each for key, each in data.items() if key != "default"})
    if wrong:
        span = nearest_node_at(entry.value, fault_path).span
        if len(wrong) > _MAX_MESSAGE:  # the message quotes the value
            wrong = f"{wrong[: _MAX_MESSAGE // 2]}…{wrong[-_MAX_MESSAGE // 2 :]}"
        message = f"the default is not what its schema allows: {wrong}"
        yield Finding(entry.key.span if span.is_empty() else span, message, severity="warning")


def _of_schema(schema: Node) -> Iterator[Finding]:
    if not isinstance(schema, MappingNode):
        return
    if not holds_printed(schema):
        yield from _of_bounds(schema)
    for entry in schema.entries:
        key, value = key_text(entry), entry.value
        if key == "type":
            for item in value.items if isinstance(value, Sequence) else (value,):
                is_known = not isinstance(item, Scalar) or item.dynamic or item.text in _TYPES
                if not is_known and not item.span.is_empty():
                    yield _wrong_type(item)
        elif key == "properties":
            yield from schema_problems(value)
        elif key in {"items", "additionalProperties"}:
            yield from _of_schema(value)
        elif key == "required":
            yield from _of_required(value, schema)
        elif key is not None and key not in _KEYWORDS:
            meant = [word for word in _KEYWORDS if is_typo(key, word) or word in plurals(key)]
            if meant:
                yield misspelled(entry.key.span, f"JSON Schema has no keyword `{key}`", key, meant)


def _of_bounds(schema: MappingNode) -> Iterator[Finding]:
    """Yield a maximum below its minimum, and the values of an `enum` that the type excludes."""
    data = plain_data(schema)
    for low, high in _BOUNDS:
        lowest, highest = data.get(low), data.get(high)
        if isinstance(lowest, int | float) and isinstance(highest, int | float) and lowest > highest:
            message = f"no value fits: `{high}` is {highest}, and `{low}` {lowest}"
            yield Finding(nearest_node_at(schema, (high,)).span, message)
    types, values = declared_types(data), data.get("enum")
    for index, value in enumerate(values if types is not None and isinstance(values, list) else ()):
        if types is not None and value is not None and not is_of_type(value, types):
            message = f"the `type` excludes {json.dumps(value)}, so that it is never allowed"
            yield Finding(nearest_node_at(schema, ("enum", index)).span, message)


def _of_required(value: Node, schema: MappingNode) -> Iterator[Finding]:
    """Yield the typos of properties in `required`, and other names there if a schema has no other properties."""
    properties = schema.merged("properties")
    more = [entry for each in _OF_MORE_PROPERTIES if (entry := schema.entry(each)) is not None]
    is_whole = all(scalar_text(entry.value) == "false" for entry in more)
    if not isinstance(value, Sequence) or not isinstance(properties, MappingNode):
        return
    names = [name for entry in properties.entries if (name := key_text(entry)) is not None]
    for item in value.items:
        name = scalar_text(item)
        if not name or name in names:
            continue
        if meant := [each for each in names if is_typo(name, each)]:
            yield misspelled(item.span, f"the schema has no property `{name}`", name, meant)
        elif is_whole:
            yield Finding(item.span, f"the schema has no property `{name}`", severity="warning")


_OF_MORE_PROPERTIES: Final = ("$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties")
"""The keywords with which a schema may have more properties than those in its `properties`."""


_BOUNDS: Final = (
    ("minItems", "maxItems"),
    ("minLength", "maxLength"),
    ("minProperties", "maxProperties"),
    ("minimum", "maximum"),
)
_MAX_VALUES: Final = 5
"""The maximum number of `enum` values in a message."""
_MAX_SCHEMAS: Final = 500
_TYPE_NAMES: Final = {str: "text", bool: "a boolean", int: "a number", float: "a number"}


def never_equal(schema: Any, use: Use) -> Iterator[Finding]:
    """Yield the constants that a value is compared with but can never equal; empty ones are skipped.

    `schema` is the schema of the variable at the start of the use's path.
    """
    found = schema_at(schema, use.path)
    if found is None:
        return
    for compared in use.compared:
        value = compared.value
        if value is None or value == "":
            continue
        values = found.get("enum")
        if "default" in found and found["default"] == value:
            continue
        types = declared_types(found)
        if isinstance(values, list) and values and value not in values:
            yield _not_listed(use.path, compared, values)
        elif types is not None and not isinstance(values, list) and not _may_equal(value, types):
            message = f"{declared_as(use.path, types)}, which is never equal to {_TYPE_NAMES[type(value)]}"
            yield Finding(compared.span, message, tuple(_unquoted(compared, types)))


def schema_at(schema: Any, path: Path) -> Mapping[str, Any] | None:
    """Return the schema of the value at a path; None if undeclared or if the value may come from elsewhere."""
    found = None if any(step.optional for step in path) else schema_along(schema, path[1:])
    return found if isinstance(found, Mapping) else None


def schema_along(schema: Any, steps: Path) -> Any:
    """Return the schema of the value that some steps lead to; None if it is not declared."""
    for step in steps:
        types = declared_types(schema)
        schema = below(schema, types, step.key) if types is not None else None
    return schema


def _may_equal(value: object, types: frozenset[str]) -> bool:
    if isinstance(value, (bool, int, float)):
        return bool(types & {"boolean", "integer", "number"})
    return is_of_type(value, types)


def _not_listed(path: Path, compared: Compared, values: list[Any]) -> Finding:
    name = path_text(path)
    known = first_of([f"`{value}`" for value in values], _MAX_VALUES)
    message = f"`{name}` is never `{compared.value}`: its `enum` has {known}"
    if not isinstance(compared.value, str):
        return Finding(compared.span, message)
    inside = Span(compared.span.start + 1, compared.span.end - 1)
    texts = [value for value in values if isinstance(value, str)]
    found = misspelled(inside, message, compared.value, texts)
    return Finding(compared.span, found.message, found.fixes)


def _unquoted(compared: Compared, types: frozenset[str]) -> Iterator[Fix]:
    """Yield the fix that removes the quotes around a number."""
    if isinstance(compared.value, str) and types & {"integer", "number"}:
        try:
            float(compared.value)
        except ValueError:
            return
        yield Fix("Remove the quotes", (Edit(compared.span, compared.value.strip()),), preferred=True)


def may_differ(file: File, typed: Mapping[str, DeclaredInput]) -> bool:
    """Return whether a comparison in the file may contradict a declaration, without analyzing the file."""
    bound: frozenset[str] | None = None
    nested: list[tuple[str, Any]] | None = None
    for path, value in _compared(file.template.source.root):
        name = str(path[0].key)
        bound = file.template.names.all_bound_names if bound is None else bound
        if name not in bound:
            schema = schema_at(typed[name].schema, path) if name in typed else None
            if schema is not None and _is_refused(schema, value):
                return True
            continue
        # The name is bound to something else, so any declared property named like the last key may be meant.
        nested = _all_below(typed) if nested is None else nested
        last = path[-1].key if len(path) > 1 else None
        if any(
            _is_refused(schema, value) for key, schema in nested if not isinstance(last, str) or key == last
        ):
            return True
    return False


def _is_refused(schema: Any, value: object) -> bool:
    use = Use((Step(""),), UNKNOWN, NOWHERE, compared=(Compared(value, NOWHERE),))
    return any(True for _ in never_equal(schema, use))


def _all_below(typed: Mapping[str, DeclaredInput]) -> list[tuple[str, Any]]:
    """Return all schemas nested in the inputs' schemas, with their property names; empty for elements."""
    found: list[tuple[str, Any]] = []
    stack: list[tuple[str, Any]] = [(name, key.schema) for name, key in typed.items()]
    while stack and len(found) < _MAX_SCHEMAS:
        name, schema = stack.pop()
        if not isinstance(schema, Mapping):
            continue
        found.append((name, schema))
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            stack += [(str(key), its) for key, its in properties.items()]
        stack += [("", schema[key]) for key in ("items", "additionalProperties") if key in schema]
    return found


_Comparisons: TypeAlias = frozenset[tuple[Path, object]]


def _values(chunk: Chunk) -> _Comparisons:
    return frozenset(
        (event.path, constant.value)
        for event in unplaced_events(chunk)
        if isinstance(event, Use)
        for constant in event.compared
    )


_compared: Final = summary(_values, union)
