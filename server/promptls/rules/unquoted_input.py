"""An input that is printed into a content without quotes.

## What it does

Points at an input in a content that is written on the key's own line, without quotes and without `|`:
at the first such place of each value, and counts the others. Where its severity is set higher, it points at
each. `tojson` keeps it silent.

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

from promptls.meaning.contents import column_of
from promptls.meaning.printed_inputs import PrintedInput, no_inputs, printed_inputs
from promptls.rules.aspects import names, silenced
from promptls.rules.first_places import FirstPlaces
from promptls.rules.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk
from promptls.text.span import Span


def _in_chunk(chunk: Chunk) -> Iterator[tuple[str, PrintedInput, int]]:
    for value in printed_inputs(chunk):
        content = value.content.value
        if content.style == "" and content.span.start <= value.span.start < content.span.end:
            yield value.text, value, 1


_PLACES: Final = FirstPlaces("unquoted-input", _in_chunk, reads_prose=False)


def check(context: FileContext) -> Iterator[Finding]:
    """The inputs that the file prints without quotes."""
    for noticed in _PLACES.noticed(context):
        value, chunk = noticed.item, noticed.chunk
        if value.name not in no_inputs(context.template):
            message = _message(chunk, value) + noticed.and_others("place like this", "places like this")
            yield Finding(value.span, message, tuple(_fixes(chunk, value))).shifted(noticed.start)


def _message(chunk: Chunk, value: PrintedInput) -> str:
    start = value.content.value.span.start
    if chunk.text.startswith("{{", start) and value.expression.start < chunk.text.find("}}", start):
        return f"YAML reads `{value.text}` here: nothing becomes null, `yes` no text, and `: ` an error"
    return f"YAML reads `{value.text}` here: `: ` is an error, and ` #` cuts off the rest"


def _fixes(chunk: Chunk, value: PrintedInput) -> Iterator[Fix]:
    """The content as a block, with what it prints escaped."""
    span = value.content.value.span
    if "\n" in chunk.text[span.start : span.end] or "\r" in chunk.text[span.start : span.end]:
        return
    indent = " " * (column_of(chunk, value.content.key.start) + 2)
    edits = [Edit(Span(span.start, span.start), f"|\n{indent}")]
    places = {other.expression for other in printed_inputs(chunk) if other.content == value.content}
    for place in sorted(places):
        edits.append(Edit(Span(place.start, place.start), "escape_special_characters("))
        edits.append(Edit(Span(place.end, place.end), ")"))
    yield Fix("Write it as a block, escaped", tuple(edits))


RULE = Rule(
    name="unquoted-input",
    summary="an input that is printed into a content without quotes",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
    looks_at=(_PLACES.aspect, names, silenced),
)
