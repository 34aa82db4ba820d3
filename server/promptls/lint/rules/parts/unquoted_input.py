"""An input that is printed into a content without quotes.

## What it does

Points at an input in a content that is written on the key's own line, without quotes and without `|`:
at the first such place of each value, and counts the others. Where its severity is set higher, it points at
each. `tojson` keeps it silent, and so does a number or a truth value with other text around it: its type in
`input_keys` says that it is one, or its use in the template.

## Why is this bad?

YAML reads the value before Prompt Poet does. Where it stands first, an empty one becomes null, and joining
the prompt fails; `yes`, `12` and dates become something other than text; a `*`, `[` or `#` at the
beginning means something else or nothing. Anywhere in it, `: ` is an error and ` #` cuts off the rest.

## Example

```yaml
- name: ticket
  content: {{ text }}
              ^^^^ unquoted-input: YAML reads `text` here: nothing becomes null, `yes` no text, and `: ` an error
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.first_places import FirstPlaces
from promptls.lint.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.semantic.contents import column_of
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.printed_inputs import PrintedInput, no_inputs, printed_inputs, schema_at, shape_kind
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_HARMLESS_SHAPES: Final = frozenset({"number", "boolean"})
_HARMLESS_TYPES: Final = frozenset({"number", "integer", "boolean", "null"})
"""What is never printed with a `: ` or a ` #` in it."""


def _in_chunk(chunk: Chunk) -> Iterator[tuple[tuple[str, bool], PrintedInput, int]]:
    for value in printed_inputs(chunk):
        content = value.content.value
        if content.style == "" and content.span.start <= value.span.start < content.span.end:
            yield (value.text, _is_whole(chunk, value)), value, 1


def _is_whole(chunk: Chunk, value: PrintedInput) -> bool:
    """Return whether the value is all of its content."""
    start, end = value.content.value.span
    return chunk.text.startswith("{{", start) and chunk.text.find("}}", start) + 2 == end


_PLACES: Final = FirstPlaces("unquoted-input", _in_chunk)


def check(context: FileContext) -> Iterator[Finding]:
    """Yield the inputs that the file prints without quotes."""
    template = context.template
    schemas = {key.name: key.schema for key in template.declarations.inputs or ()}
    for noticed in _PLACES.noticed(context):
        value, chunk = noticed.item, noticed.chunk
        if not _is_whole(chunk, value):
            types = schema_at(schemas.get(value.name, {}), value.keys).get("type")
            if {*types} <= _HARMLESS_TYPES if isinstance(types, list) else types in _HARMLESS_TYPES:
                continue
            if shape_kind(used_shapes(template).get(value.name), value.keys) in _HARMLESS_SHAPES:
                continue
        if value.name not in no_inputs(template):
            message = _message(chunk, value) + noticed.and_others("place like this", "places like this")
            yield Finding(value.span, message, tuple(_fixes(chunk, value))).shifted(noticed.start)


def _message(chunk: Chunk, value: PrintedInput) -> str:
    start = value.content.value.span.start
    if chunk.text.startswith("{{", start) and value.expression.start < chunk.text.find("}}", start):
        return f"YAML reads `{value.text}` here: nothing becomes null, `yes` no text, and `: ` an error"
    return f"YAML reads `{value.text}` here: `: ` is an error, and ` #` cuts off the rest"


def _fixes(chunk: Chunk, value: PrintedInput) -> Iterator[Fix]:
    """Yield the content as a block, or in the braces of a mapping in quotes, with what it prints escaped."""
    span = value.content.value.span
    if "\n" in chunk.text[span.start : span.end] or "\r" in chunk.text[span.start : span.end]:
        return
    ahead = chunk.text[: value.content.key.start].rstrip()
    if ahead.endswith(("{", ",")):
        if not {'"', "\\"} & set(chunk.text[span.start : span.end]):
            quotes = [Edit(Span(span.start, span.start), '"'), Edit(Span(span.end, span.end), '"')]
            yield Fix("Quote it, escaped", (*quotes, *_escapes(chunk, value)))
        return
    indent = " " * (column_of(chunk, value.content.key.start) + 2)
    block = Edit(Span(span.start, span.start), f"|\n{indent}")
    yield Fix("Write it as a block, escaped", (block, *_escapes(chunk, value)))


def _escapes(chunk: Chunk, value: PrintedInput) -> Iterator[Edit]:
    """Yield the edits that escape all inputs which the content of a value prints."""
    places = {other.expression for other in printed_inputs(chunk) if other.content == value.content}
    for place in sorted(places):
        yield Edit(Span(place.start, place.start), "escape_special_characters(")
        yield Edit(Span(place.end, place.end), ")")


RULE = Rule(
    name="unquoted-input",
    summary="input printed into an unquoted value",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
