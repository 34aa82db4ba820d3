"""What is wrong with the JSON Schemas that a file declares: types that there are not, and misspelt keywords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptls.meaning.object_data import holds_printed, plain_data
from promptls.meaning.schema_error import schema_fault
from promptls.rules.facts.declared_types import plainly_fits
from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import Edit, Finding, Fix
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text, node_at, scalar_text
from promptls.text.nearest import is_slip, nearest

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_KEYWORDS: Final = (
    "type", "description", "default", "enum", "const", "examples", "items", "properties", "required",
    "additionalProperties", "patternProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "format", "title", "anyOf", "allOf", "oneOf",
)  # fmt: skip


def keywords_problems(schema: Node | None) -> Iterator[Finding]:
    """The mistakes in one schema, such as that of the output."""
    if schema is not None:
        yield from _of_schema(schema)


def _wrong_type(node: Node) -> Finding:
    written = scalar_text(node) or ""
    found = misspelt(node.span, f"JSON Schema has no type `{written}`", written, _TYPES)
    return _quoted(found) if nearest(written, _TYPES) == "null" else found


def _quoted(finding: Finding) -> Finding:
    """The finding with quotes in its fix: `null` without them is no text in YAML."""
    fixes = [
        Fix(fix.title, tuple(Edit(edit.span, f"'{edit.text}'") for edit in fix.edits), fix.preferred)
        for fix in finding.fixes
    ]
    return replace(finding, fixes=tuple(fixes))


def schema_problems(inputs: Node | None) -> Iterator[Finding]:
    """The mistakes in the schemas under `input_keys`."""
    if isinstance(inputs, Mapping):
        for entry in inputs.entries:
            wrong = list(_of_schema(entry.value))
            yield from wrong or _of_default(entry.value)


def _of_default(schema: Node) -> Iterator[Finding]:
    """A default that its own schema refuses."""
    entry = schema.entry("default") if isinstance(schema, Mapping) else None
    if entry is None or holds_printed(schema):
        return
    data = plain_data(schema)
    value = data["default"]
    if value is None or plainly_fits(value, data):
        return
    wrong, way = schema_fault(value, {key: each for key, each in data.items() if key != "default"})
    if wrong:
        span = node_at(entry.value, way).span
        message = f"the default is not what its schema allows: {wrong}"
        yield Finding(entry.key.span if span.is_empty() else span, message, severity="warning")


def _of_schema(schema: Node) -> Iterator[Finding]:
    if not isinstance(schema, Mapping):
        return
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
        elif key is not None and key not in _KEYWORDS:
            meant = [word for word in _KEYWORDS if is_slip(key, word)]
            if meant:
                yield misspelt(entry.key.span, f"JSON Schema has no keyword `{key}`", key, meant)
