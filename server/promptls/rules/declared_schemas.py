"""What is wrong with the JSON Schemas in `input_keys`: types that there are not, and misspelt keywords."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.rules.misspelt import misspelt
from promptls.rules.rule import Finding
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.text.nearest import is_slip

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_KEYWORDS: Final = (
    "type", "description", "default", "enum", "const", "examples", "items", "properties", "required",
    "additionalProperties", "patternProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "format", "title", "anyOf", "allOf", "oneOf",
)  # fmt: skip


def schema_problems(inputs: Node | None) -> Iterator[Finding]:
    """The mistakes in the schemas under `input_keys`."""
    if isinstance(inputs, Mapping):
        for entry in inputs.entries:
            yield from _of_schema(entry.value)


def _of_schema(schema: Node) -> Iterator[Finding]:
    if not isinstance(schema, Mapping):
        return
    for entry in schema.entries:
        key, value = key_text(entry), entry.value
        if key == "type":
            for item in value.items if isinstance(value, Sequence) else (value,):
                if isinstance(item, Scalar) and not item.span.is_empty() and item.text not in _TYPES:
                    message = f"JSON Schema has no type `{item.text}`"
                    yield misspelt(item.span, message, item.text, _TYPES)
        elif key == "properties":
            yield from schema_problems(value)
        elif key in {"items", "additionalProperties"}:
            yield from _of_schema(value)
        elif key is not None and key not in _KEYWORDS:
            meant = [word for word in _KEYWORDS if is_slip(key, word)]
            if meant:
                yield misspelt(entry.key.span, f"JSON Schema has no keyword `{key}`", key, meant)
