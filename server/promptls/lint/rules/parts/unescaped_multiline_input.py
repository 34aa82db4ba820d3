"""An input whose line breaks would become line breaks of the YAML.

## What it does

Points at an input that is printed as it is into a block scalar (`|`, `>`) or into quotes: at the first such
place of each value, and counts the others. Where its severity is set higher, it points at each. Nothing is said
where the value goes through `escape_special_characters`, `tojson` or `indent` with the block's own
indentation, where the template uses it as a number, a truth value, a list or a mapping, and where its type
or its `enum` in `input_keys` leaves no room for a line break. Where an example in the file gives the
input with a line break, or where the tag itself puts one into a block, such as `join` between the elements
of a list, it is a warning.

## Why is this bad?

Jinja runs before YAML. The second line of the value begins in the first column: it ends the block, and
loading fails, or what the value says is taken for another part. In quotes the line break becomes a space.
`escape_special_characters` writes it so that Prompt Poet can turn it back into a line break.

## Example

```yaml
- name: ticket
  content: |
    {{ text }}
       ^^^^ unescaped-multiline-input: a line break in `text` would end this block
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.lint.analysis.first_places import FirstPlaces
from promptls.lint.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.semantic.contents import block_indent
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.header import Declarations
from promptls.semantic.printed_inputs import (
    PrintedInput,
    no_inputs,
    printed_inputs,
    schema_at,
    shape_kind,
    ways_from_inputs,
)
from promptls.semantic.types.shape import Shape
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_QUOTES: Final = {"'": "single", '"': "double"}
_ONE_LINE_SHAPES: Final = frozenset({"number", "boolean", "list", "mapping", "callable"})
_ONE_LINE_TYPES: Final = frozenset({"number", "integer", "boolean", "null", "array", "object"})
_ONE_LINE_FORMATS: Final = frozenset(
    {"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
)


def _in_chunk(chunk: Chunk) -> Iterator[tuple[tuple[str, str, bool], PrintedInput, int]]:
    for value in printed_inputs(chunk):
        if value.content.is_block or value.content.value.style in _QUOTES:
            yield (value.name, value.text, _is_broken_up(value)), value, 1


def _is_broken_up(value: PrintedInput) -> bool:
    """Return whether the tag itself ends the block, whatever the value is."""
    return value.adds_breaks and value.content.is_block


_PLACES: Final = FirstPlaces("unescaped-multiline-input", _in_chunk)


def check(context: FileContext) -> Iterator[Finding]:
    """Yield the inputs that the file prints as they are, where a line break would matter."""
    template = context.template
    broken = _names_with_line_breaks(template.declarations)
    schemas = {key.name: key.schema for key in template.declarations.inputs or ()}
    seen: set[str] = set()
    told: set[tuple[int, Span]] = set()
    inputs = template.names.input_names - no_inputs(template)
    known = inputs | template.names.bound_names("for") | template.names.bound_names("set")
    shapes: Mapping[str, Shape] | None = None
    about = _PLACES.noticed(context, about=lambda subject: subject[0] in known, every=bool(broken))
    about_inputs = list(about)
    ways = ways_from_inputs(
        template, [(each.item, each.start) for each in about_inputs if each.item.name not in inputs]
    )
    for noticed in about_inputs:
        value, start = noticed.item, noticed.start
        name, keys = value.name, value.keys
        if name not in inputs:
            name, keys = ways[value.span, start]
            if name not in inputs:
                continue
        shapes = used_shapes(template) if shapes is None else shapes
        fixes = tuple(_fixes(noticed.chunk, value))
        if _is_broken_up(value):
            if (start, value.expression) in told:
                continue
            told.add((start, value.expression))
            message = "the line breaks that this expression puts in end this block"
            yield Finding(value.expression, message, fixes, severity="warning").shifted(start)
            continue
        if _is_one_line(schema_at(schemas.get(name, {}), keys)):
            continue
        if shape_kind(shapes.get(name), keys) in _ONE_LINE_SHAPES:
            continue
        if value.name in broken and not value.keys:
            message = f"an example gives `{value.text}` with a line break: {_effect(value)}"
            yield Finding(value.span, message, fixes, severity="warning").shifted(start)
        elif not broken or value.text not in seen:
            seen.add(value.text)
            message = _message(value) + noticed.and_others("place like this", "places like this")
            yield Finding(value.span, message, fixes).shifted(start)


def _message(value: PrintedInput) -> str:
    if value.content.is_block:
        return f"a line break in `{value.text}` would end this block"
    return f"a line break in `{value.text}` would become a space in these {_kind_of_quotes(value)} quotes"


def _effect(value: PrintedInput) -> str:
    return "it ends this block" if value.content.is_block else "here it becomes a space"


def _kind_of_quotes(value: PrintedInput) -> str:
    return _QUOTES[value.content.value.style]


def _names_with_line_breaks(declarations: Declarations) -> frozenset[str]:
    """Return the inputs that an example of the file gives as text with a line break in the middle."""
    return frozenset(
        name
        for example in declarations.examples
        for name, value in example.data.items()
        if isinstance(value, str) and "\n" in value.strip()
    )


def _is_one_line(schema: dict[str, Any]) -> bool:
    """Return whether a schema leaves no room for a line break; a pattern is taken to leave none."""
    if "const" in schema:
        return "\n" not in str(schema["const"])
    if isinstance(schema.get("enum"), list):
        return not any("\n" in str(value) for value in schema["enum"])
    if "pattern" in schema or schema.get("format") in _ONE_LINE_FORMATS:
        return True
    types = schema.get("type")
    named = set(types) if isinstance(types, list) else {types}
    return named <= _ONE_LINE_TYPES


def _fixes(chunk: Chunk, value: PrintedInput) -> Iterator[Fix]:
    written = chunk.text[value.expression.start : value.expression.end]
    yield Fix("Escape it", (Edit(value.expression, f"escape_special_characters({written})"),))
    indent = block_indent(chunk, value.content) if value.content.value.style == "|" else None
    if indent is not None and value.expression == value.span:
        yield Fix("Indent its lines", (Edit(value.expression, f"{written} | indent({indent})"),))


RULE = Rule(
    name="unescaped-multiline-input",
    summary="input whose line breaks would break the YAML",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
