"""Whether a value of a declared JSON type can be used as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from promptls.meaning.paths import Each, Path
from promptls.meaning.use import Use
from promptls.text.nearest import is_slip

_PYTHON: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""The Python types that data of a JSON type has."""
_PLAIN: Final = frozenset({"type", "description", "default", "examples", "title", "format"})
_ALLOWED: Final = {
    "iterated": frozenset({"string", "array", "object"}),
    "called": frozenset[str](),
    "number": frozenset({"integer", "number", "boolean"}),
    "text": frozenset({"string"}),
    "mapping": frozenset({"object"}),
}
_WORDS: Final = {
    "iterated": "which cannot be gone through",
    "called": "which cannot be called",
    "number": "which is no number",
    "text": "which is no text",
    "mapping": "which has no keys",
}


_GONE_THROUGH: Final = frozenset({Each.ELEMENT, Each.VALUE})
_LEAST_LETTERS: Final = 3
"""How many letters a name has at least that can be told to be misspelt."""


def mismatch(schema: Any, use: Use) -> str | None:
    """What is wrong with using a value in this way; None where nothing certainly is.

    `schema` is that of the variable at which the use's path begins.
    """
    for index, step in enumerate(use.path[1:], start=1):
        types = declared_types(schema)
        if types is None:
            return None
        if isinstance(step.key, str):
            if not _has_key(schema, types, step.key):
                if any(each.key in _GONE_THROUGH for each in use.path[index + 1 :]):
                    return None  # it is told where the loop begins
                return f"{declared_as(use.path[:index], types)}, which has no `{step.key}`{_meant(schema, step.key)}"
        elif not types <= _element_types(step.key):
            # A loop over what has no elements is told where it begins.
            is_told = step.key is not Each.INDEX or types & _element_types(step.key)
            return None if is_told else f"{declared_as(use.path[:index], types)}, which has no elements"
        schema = below(schema, types, step.key)
    types = declared_types(schema)
    if types is None or not use.need:
        return None
    if use.need.startswith("."):
        attribute = use.need[1:]
        if _has_key(schema, types, attribute):
            return None
        return f"{declared_as(use.path, types)}, which has no `{attribute}`{_meant(schema, attribute)}"
    if types & _ALLOWED[use.need]:
        return None
    return f"{declared_as(use.path, types)}, {_WORDS[use.need]}"


def meant_key(schema: Any, use: Use) -> tuple[str, str] | None:
    """The last key of a use, where it is a slip of a declared one, and the one that was probably meant."""
    for step in use.path[1:-1]:
        types = declared_types(schema)
        schema = below(schema, types, step.key) if types is not None else None
    key = use.path[-1].key
    if not isinstance(schema, Mapping) or not isinstance(key, str) or len(use.path) == 1:
        return None
    meant = slip_of(schema, key)
    return (key, meant) if meant is not None and lacks_property(schema, key) else None


def _meant(schema: Any, key: str) -> str:
    meant = slip_of(schema, key)
    return f"; did you mean `{meant}`?" if meant else ""


def declared_types(schema: Any) -> frozenset[str] | None:
    """The JSON types that a schema allows, without `null`; None where it does not say them all."""
    if not isinstance(schema, Mapping):
        return None
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    types = frozenset(kind for kind in named if isinstance(kind, str) and kind != "null")
    return types if types and types <= _PYTHON.keys() else None


def is_of_type(value: Any, types: frozenset[str]) -> bool:
    """Whether a piece of data is of one of the JSON types."""
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return True
    return any(isinstance(value, python) for kind in types - {"boolean"} for python in _PYTHON[kind])


def _element_types(key: object) -> frozenset[str]:
    if key is Each.VALUE:
        return frozenset({"object"})
    return frozenset({"string", "array", "object"})


def _has_key(schema: Mapping[str, Any], types: frozenset[str], key: str) -> bool:
    """Whether a value of one of the types may have an attribute or a key of this name."""
    if "object" in types and not lacks_property(schema, key):
        return True
    return any(hasattr(python, key) for kind in types for python in _PYTHON[kind])


def lacks_property(schema: Mapping[str, Any], key: str) -> bool:
    """Whether a mapping of this schema has no such key: it allows no other ones, or `key` is a slip of one."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or key in properties:
        return False
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return is_closed or slip_of(schema, key) is not None


def slip_of(schema: Any, key: str) -> str | None:
    """The declared property of which `key` is most likely a misspelling."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(key) < _LEAST_LETTERS:
        return None
    return next((name for name in map(str, properties) if is_slip(key, name)), None)


def below(schema: Mapping[str, Any], types: frozenset[str], key: object) -> Any:
    """The schema of what a step leads to; None where it is not declared."""
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


def words_of(path: Path) -> str:
    """A path as people read it: `history[…].author`."""
    return str(path[0].key) + "".join(
        f".{step.key}" if isinstance(step.key, str) else "[…]" for step in path[1:]
    )


def declared_as(path: Path, types: frozenset[str]) -> str:
    """The beginning of a sentence: what is declared of the value at the end of a path."""
    kinds = " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in sorted(types))
    return f"`{words_of(path)}` is declared as {kinds}"


def plainly_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a schema that says little more than a type allows the value; jsonschema is slow to ask."""
    types = declared_types(schema)
    return types is not None and schema.keys() <= _PLAIN and is_of_type(value, types)
