"""Input printed into an unquoted value.

## What it does

Reports an input in a content that is written on the line of its key, without quotes and without `|`, at
the first such place of each value, with the number of further places. If the severity of the rule is
raised, each place is reported. Nothing is reported with `tojson`, or for a number or boolean, according
to its type in `input_keys` or its uses in the template, with other text around it.

A value that `tojson` prints into a content in double quotes is a warning: it brings double quotes of its own.

## Why is this bad?

YAML parses the text before Prompt Poet uses it. At the beginning of the content, an empty value becomes
null, and joining the prompt fails; `yes`, `12` and dates become something other than text; and a `*`,
`[` or `#` has a special meaning. Anywhere in the content, `: ` is an error and ` #` cuts off the rest.

## Example

```yaml
- name: ticket
  content: {{ text }}
              ^^^^ unquoted-input: YAML parses the value of `text`: an empty value becomes null, `yes` a boolean, and `: ` an error
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

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.parts import chunk_contents, column_of, tags_in
from promptls.semantic.printed_inputs import PrintedInput, no_inputs, printed_inputs, schema_at, shape_kind
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span

_HARMLESS_SHAPES: Final = frozenset({"number", "boolean"})
_HARMLESS_TYPES: Final = frozenset({"number", "integer", "boolean", "null"})
"""Types that are never printed with a `: ` or a ` #`."""


_MAX_ESCAPED: Final = 50
"""How many values a fix escapes at most."""


def _unquoted(file: File) -> Iterator[tuple[int, Chunk, PrintedInput]]:
    """Yield the inputs printed into plain values, each with its chunk and the chunk's start."""
    for located in file.chunks.placed():
        for value in printed_inputs(located.chunk):
            if value.style == "" and value.content.start <= value.span.start < value.content.end:
                yield located.start, located.chunk, value


def _is_whole(chunk: Chunk, value: PrintedInput) -> bool:
    """Return whether the value is the whole content."""
    start, end = value.content
    return chunk.text.startswith("{{", start) and chunk.text.find("}}", start) + 2 == end


def check(file: File) -> Iterator[Finding]:
    """Yield the inputs that the file prints without quotes."""
    yield from first_of_each(file, RULE.name, _places(file))
    yield from _in_double_quotes(file)


@each_chunk
def _in_double_quotes(chunk: Chunk) -> Iterator[Finding]:
    """Yield each `tojson` in a content in double quotes, which it ends."""
    for content in chunk_contents(chunk) if "tojson" in chunk.text else ():
        if content.value.style != '"':
            continue
        for tag in tags_in(chunk, content):
            nodes = tag_tree(tag).statement.expressions if tag.kind == "output" and not tag.unclosed else ()
            for node in nodes:
                if isinstance(node, Filter) and node.name == "tojson":
                    start, end = content.value.span
                    text = chunk.text[start + 1 : end - 1]
                    edits = (Edit(Span(start, start + 1), "'"), Edit(Span(end - 1, end), "'"))
                    fixes = () if {"'", "\\"} & set(text) else (Fix("Use single quotes", edits),)
                    message = "`tojson` writes a text in double quotes, which end this content"
                    yield Finding(node.name_span.shifted(tag.span.start), message, fixes, severity="warning")


def _places(file: File) -> Iterator[RepeatedFinding]:
    template = file.template
    schemas = {key.name: key.schema for key in template.declarations.inputs or ()}
    others = no_inputs(template)
    for start, chunk, value in _unquoted(file):
        is_whole = _is_whole(chunk, value)
        if not is_whole:
            types = schema_at(schemas.get(value.name, {}), value.keys).get("type")
            if {*types} <= _HARMLESS_TYPES if isinstance(types, list) else types in _HARMLESS_TYPES:
                continue
            if shape_kind(used_shapes(template).get(value.name), value.keys) in _HARMLESS_SHAPES:
                continue
        if value.name not in others:
            found = Finding(value.span, _message(chunk, value), tuple(_fixes(chunk, value)))
            yield RepeatedFinding((value.text, is_whole), found.shifted(start))


def _message(chunk: Chunk, value: PrintedInput) -> str:
    start = value.content.start
    if chunk.text.startswith("{{", start) and value.expression.start < chunk.text.find("}}", start):
        return f"YAML parses the value of `{value.text}`: an empty value becomes null, `yes` a boolean, and `: ` an error"
    return f"YAML parses the value of `{value.text}`: `: ` is an error, and ` #` cuts off the rest"


def _fixes(chunk: Chunk, value: PrintedInput) -> Iterator[Fix]:
    """Yield the fix that escapes the printed values and makes the content a block, or quotes it in braces."""
    span = value.content
    if len(_expressions(chunk)[span]) > _MAX_ESCAPED:
        return
    if "\n" in chunk.text[span.start : span.end] or "\r" in chunk.text[span.start : span.end]:
        return
    text_before = chunk.text[: value.key.start].rstrip()
    if text_before.endswith(("{", ",")):
        if not {'"', "\\"} & set(chunk.text[span.start : span.end]):
            quotes = [Edit(Span(span.start, span.start), '"'), Edit(Span(span.end, span.end), '"')]
            yield Fix("Quote it, escaped", (*quotes, *_escapes(chunk, value)))
        return
    indent = " " * (column_of(chunk, value.key.start) + 2)
    block = Edit(Span(span.start, span.start), f"|\n{indent}")
    yield Fix("Write it as a block, escaped", (block, *_escapes(chunk, value)))


@chunk_fact
def _expressions(chunk: Chunk) -> dict[Span, list[Span]]:
    """Return the printed expressions in each content, in order."""
    found: dict[Span, set[Span]] = {}
    for value in printed_inputs(chunk):
        found.setdefault(value.content, set()).add(value.expression)
    return {content: sorted(expressions) for content, expressions in found.items()}


def _escapes(chunk: Chunk, value: PrintedInput) -> Iterator[Edit]:
    """Yield the edits that escape all inputs printed in the content of a value."""
    for place in _expressions(chunk)[value.content]:
        yield Edit(Span(place.start, place.start), "escape_special_characters(")
        yield Edit(Span(place.end, place.end), ")")


RULE = Rule(check, severity="hint", kinds=PARTS_KINDS)
