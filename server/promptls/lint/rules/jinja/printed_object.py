"""Value that is printed in Python's notation.

## What it does

Reports the call of a method such as `append` that a tag prints: it returns nothing, and the tag prints `None`.
As an information, reports a mapping, or a list of mappings, that is printed amid the text of a content, if
`input_keys` declares it or all samples have it; as a hint, a list of other values, and one that the file sets.

## Why is this bad?

The model gets the notation of Python: `None` amid the text, or `{'paid': True, 'note': None}`, which is no JSON.

## Example

```yaml
- name: documents
  content: |
    {% set titles = [] %}
    {%- for document in documents %}
    {{ titles.append(document.title) }}
              ^^^^^^ printed-object: `append` returns nothing: this tag prints `None`
    {%- endfor %}
    {{ titles | join(", ") }}
```

Use instead:

```yaml
- name: documents
  content: |
    {% set titles = [] %}
    {%- for document in documents %}
    {%- set _ = titles.append(document.title) %}
    {%- endfor %}
    {{ titles | join(", ") }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from promptls.lint.analysis.literal_types import LiteralTypes
from promptls.lint.analysis.sampled_values import sampled_schemas
from promptls.lint.rule import JINJA_KINDS, PARTS_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.flow.shapes import analyzes
from promptls.semantic.parts import chunk_contents, tags_in
from promptls.semantic.printed_inputs import (
    PrintedInput,
    no_inputs,
    origin_of,
    printed_inputs,
    schema_at,
)
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_OF_LISTS: Final = frozenset({"append", "extend", "insert"})
"""Methods of lists that return nothing, and that other values hardly have."""
_CHANGING: Final = _OF_LISTS | {"clear", "remove", "reverse", "sort", "update"}
"""Methods of lists and mappings that return nothing."""

_QUOTES: Final = frozenset({"'", '"'})
_MAPPING: Final = "a mapping"
_MAPPINGS: Final = "a list of mappings"
_LIST: Final = "a list"
_KINDS: Final[dict[type, str]] = {dict: _MAPPING, list: _LIST}


@chunk_fact
def _changes(chunk: Chunk) -> tuple[tuple[Tag, Attribute], ...]:
    """Return the tags that print what a method returns that changes a value."""
    found: list[tuple[Tag, Attribute]] = []
    for tag in chunk.tags:
        if tag.kind == "output" and not tag.unclosed and not tag_tree(tag).problems:
            match tag_tree(tag).statement.expressions:
                case (Call(function=Attribute() as method),) if method.name in _CHANGING:
                    found.append((tag, method))
    return tuple(found)


_has_changes: Final = summary(lambda chunk: bool(_changes(chunk)), any)


@chunk_fact
def _printed_inputs(chunk: Chunk) -> tuple[PrintedInput, ...]:
    """Return the inputs that are printed as they are, amid the text of a content."""
    return tuple(
        value
        for value in printed_inputs(chunk)
        if value.expression == value.span and (value.is_in_block or value.style in _QUOTES)
    )


@chunk_fact
def _printed_values(chunk: Chunk) -> tuple[tuple[int, Name | Collection], ...]:
    """Return the names and literals that are printed as they are, with the starts of their tags."""
    return tuple(
        (tag.span.start, expression)
        for content in chunk_contents(chunk)
        if content.is_block or content.value.style in _QUOTES
        for tag in tags_in(chunk, content)
        if tag.kind == "output" and not tag.unclosed and not tag_tree(tag).problems
        for expression in tag_tree(tag).statement.expressions
        if isinstance(expression, Name | Collection)
    )


_prints_inputs: Final = summary(lambda chunk: bool(_printed_inputs(chunk)), any)
_prints_values: Final = summary(lambda chunk: bool(_printed_values(chunk)), any)


def check(file: File) -> Iterator[Finding]:
    """Yield the calls that print `None`, and the mappings and lists that are printed as they are."""
    types = LiteralTypes(file)
    for located in file.chunks.where(_has_changes):
        for tag, method in _changes(located.chunk):
            known = types.type_of(method.target)
            if known in {list, dict} or (known is None and method.name in _OF_LISTS):
                yield _none(tag, method).shifted(located.start)
    if file.kind in PARTS_KINDS:
        for located in file.chunks.where(_prints_values):
            for start, node in _printed_values(located.chunk):
                what = _KINDS.get(types.type_of(node) or str)
                if what is not None:
                    finding = replace(_finding(node.span.shifted(start), what), severity="hint")
                    yield finding.shifted(located.start)
        yield from _of_inputs(file)


def _none(tag: Tag, method: Attribute) -> Finding:
    inside = tag.text[tag.inner_start : tag.inner_end]
    first = tag.span.start + tag.inner_start + len(inside) - len(inside.lstrip())
    start, end = tag.span
    edits = (
        Edit(Span(start, start + 2), "{%"),
        Edit(Span(first, first), "set _ = "),
        Edit(Span(end - 2, end), "%}"),
    )
    message = f"`{method.name}` returns nothing: this tag prints `None`"
    return Finding(
        method.name_span.shifted(start), message, (Fix("Assign the result", edits, preferred=True),)
    )


def _of_inputs(file: File) -> Iterator[Finding]:
    """Yield the inputs, and the values in them, that are mappings and lists and are printed as they are."""
    if not _prints_inputs(file.chunks):
        return
    template = file.template
    schemas = {key.name: key.schema for key in template.declarations.inputs or ()}
    sampled = sampled_schemas(file)
    inputs = template.names.input_names - no_inputs(template)
    analysis_at = analyzes(template)
    for located in file.chunks.where(_prints_inputs):
        for value in _printed_inputs(located.chunk):
            name, keys = value.name, value.keys
            if name not in inputs:
                name, keys = origin_of(value, analysis_at(located.start + value.span.start))
            if name in inputs:
                of_name = (each.get(name, {}) for each in (schemas, sampled))
                what = next((kind for each in of_name if (kind := _kind_of(schema_at(each, keys)))), None)
                if what is not None:
                    yield _finding(value.span, what).shifted(located.start)


def _kind_of(schema: Mapping[str, Any]) -> str | None:
    """Return what the values of a schema are, if Python's notation of them is no plain text."""
    if schema.get("type") == "object":
        return _MAPPING
    items = schema.get("items")
    if schema.get("type") != "array" or not isinstance(items, Mapping) or not items:
        return None
    return _MAPPINGS if items.get("type") == "object" else _LIST


def _finding(span: Span, what: str) -> Finding:
    message = f"this is {what}: it is printed in the notation of Python"
    added = 'join(", ")' if what == _LIST else "tojson"
    fix = Fix(f"Add `| {added}`", (Edit(Span(span.end, span.end), f" | {added}"),))
    return Finding(span, message, (fix,), severity="hint" if what == _LIST else "information")


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
