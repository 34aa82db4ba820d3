"""Values that YAML reads as more than a text, because they are printed without quotes or escapes.

# unquoted-input

Input printed into an unquoted value.

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

# unescaped-multiline-input

Input whose line breaks would break the YAML.

Reports an input that is printed without escaping in a block scalar (`|`, `>`) or in quotes. It is a
warning if the input is known to contain line breaks, in an example or a sample of the file or in a
Python call that loads it, or if the tag itself adds a line break to a block, such as `join` between the
elements of a list. Otherwise it is a hint at the first such place in the file whose name is not that of a
short value, such as `user_name`, `date`, `url` or `settings.start_token`; if the severity of the rule is raised, each place is
reported. Nothing is reported if the value passes through
`escape_special_characters`, `tojson`, or `indent` with the block's indentation; if the template uses it
as a number, a boolean, a list or a mapping; if all Python calls pass such a value; or if its type or
`enum` in `input_keys` excludes line breaks.

## Why is this bad?

Jinja runs before YAML. The second line of the value begins in the first column: it ends the block, and
loading fails, or the text of the value is read as another part. In quotes, the line break becomes a
space. `escape_special_characters` encodes it so that Prompt Poet can restore the line break.

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
    {{ escape_special_characters(text | string) }}
```

Without `| string`, rendering fails for anything but text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from promptls.lint.analysis.call_problems import call_problems
from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each, shows_all
from promptls.lint.analysis.unmatched_names import samples_of
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.flow.analysis import FlowAnalysis
from promptls.semantic.flow.shapes import analyzes, used_shapes
from promptls.semantic.parts import chunk_contents, column_of, tags_in
from promptls.semantic.printed_inputs import (
    PrintedInput,
    no_inputs,
    origin_of,
    printed_inputs,
    schema_at,
    shape_kind,
)
from promptls.semantic.types.assignability import KnownValue
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.syntax.chunk import Chunk, chunk_fact, fact_values
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import has_tag_problem, tag_tree
from promptls.text.positions import Span
from promptls.workspace.contract import calls_to

_HARMLESS_SHAPES: Final = frozenset({"number", "boolean"})
_HARMLESS_TYPES: Final = frozenset({"number", "integer", "boolean", "null"})
"""Types that are never printed with a `: ` or a ` #`."""


_MAX_ESCAPED: Final = 50
"""How many values a fix escapes at most."""


def _unquoted(file: File) -> Iterator[tuple[int, Chunk, PrintedInput]]:
    """Yield the inputs printed into plain values, each with its chunk and the chunk's start."""
    for located in file.chunks.placed():
        for value in printed_inputs(located.chunk):
            if value.style == "" and value.content.covers(value.span.start):
                yield located.start, located.chunk, value


def _is_whole(chunk: Chunk, value: PrintedInput) -> bool:
    start, end = value.content
    return chunk.text.startswith("{{", start) and chunk.text.find("}}", start) + 2 == end


@rule(severity="hint", kinds=PARTS_KINDS)
def unquoted_input(file: File) -> Iterator[Finding]:
    """Yield the inputs that the file prints without quotes."""
    yield from first_of_each(file, unquoted_input.name, _places(file))
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
    schemas = template.declarations.schemas
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
            found = Finding(value.span, _unquoted_message(chunk, value), tuple(_quoting(chunk, value)))
            yield RepeatedFinding((value.text, is_whole), found.shifted(start))


def _unquoted_message(chunk: Chunk, value: PrintedInput) -> str:
    start = value.content.start
    if chunk.text.startswith("{{", start) and value.expression.start < chunk.text.find("}}", start):
        return f"YAML parses the value of `{value.text}`: an empty value becomes null, `yes` a boolean, and `: ` an error"
    return f"YAML parses the value of `{value.text}`: `: ` is an error, and ` #` cuts off the rest"


def _quoting(chunk: Chunk, value: PrintedInput) -> Iterator[Fix]:
    """Yield the fix that escapes the printed values and makes the content a block, or quotes it in braces."""
    span = value.content
    if len(_expressions(chunk)[span]) > _MAX_ESCAPED:
        return
    if "\n" in chunk.slice(span) or "\r" in chunk.slice(span):
        return
    text_before = chunk.text[: value.key.start].rstrip()
    if text_before.endswith(("{", ",")):
        if not {'"', "\\"} & set(chunk.slice(span)):
            quotes = [Edit.insert(span.start, '"'), Edit.insert(span.end, '"')]
            yield Fix("Quote it, escaped", (*quotes, *_escapes(chunk, value)))
        return
    indent = " " * (column_of(chunk, value.key.start) + 2)
    block = Edit.insert(span.start, f"|\n{indent}")
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
        yield Edit.insert(place.start, "escape_special_characters(")
        yield Edit.insert(place.end, ")")


_QUOTES: Final = {"'": "single", '"': "double"}
_ONE_LINE_VALUES: Final = frozenset({"number", "boolean", "list", "mapping"})
_ONE_LINE_SHAPES: Final = _ONE_LINE_VALUES | {"callable"}
_ONE_LINE_TYPES: Final = frozenset({"number", "integer", "boolean", "null", "array", "object"})
_ONE_LINE_FORMATS: Final = frozenset(
    {"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
)
_ONE_LINE_NAMES: Final = frozenset(
    (
        *("age", "amount", "author", "branch", "category", "city", "color", "count", "country", "currency"),
        *("date", "datetime", "day", "delimiter", "dir", "directory", "email", "filename", "firstname"),
        *("folder", "gender", "host", "hostname", "hour", "id", "index", "key", "label", "lang"),
        *("language", "lastname", "locale", "marker", "month", "name", "namespace", "num", "number"),
        *("path", "pct", "percent", "percentage", "phone", "place", "port", "prefix", "price", "repo"),
        *("role", "score", "separator", "size", "slug", "status", "suffix", "tag", "time", "timestamp"),
        *("timezone", "title", "today", "token", "topic", "total", "type", "uri", "url", "username"),
        *("uuid", "version", "weekday", "year"),
    )
)
"""The last words of the names of values that have one line."""
_SETTINGS: Final = re.compile(r"(?:settings|config|cfg|options|constants)\.")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of a file with their types; `analysis_at` returns the blocks open at an offset."""

    names: frozenset[str]
    schemas: Mapping[str, dict[str, Any]]
    shapes: Mapping[str, Shape]
    analysis_at: Callable[[int], FlowAnalysis]

    def type_of(self, value: PrintedInput, start: int) -> tuple[dict[str, Any], str] | None:
        """Return the schema and the kind of a value in the chunk at `start`; None if it is of no input."""
        name, keys = value.name, value.keys
        if name not in self.names:
            name, keys = origin_of(value, self.analysis_at(start + value.span.start))
            if name not in self.names:
                return None
        schema = self.schemas.get(name, {})
        if str(schema.get("type")) in _HARMLESS_TYPES:
            keys = ()  # a number has no elements; `input-type-mismatch` reports a loop over it
        return schema_at(schema, keys), shape_kind(self.shapes.get(name), keys)


def _inputs_of(file: File) -> _Inputs:
    template = file.template
    schemas = template.declarations.schemas
    names = template.names.input_names - no_inputs(template)
    return _Inputs(names, schemas, used_shapes(template), analyzes(template))


@rule(severity="hint", kinds=PARTS_KINDS)
def unescaped_multiline_input(file: File) -> Iterator[Finding]:
    """Yield the inputs that are printed unescaped where a line break would change the YAML."""
    names = file.template.names
    multiline = _multiline_inputs(file)
    one_line = _single_line_inputs(file)
    inputs = _inputs_of(file)
    known = inputs.names | names.bound_names("for") | names.bound_names("set")
    reported = _reported_in_calls(file)
    shows_hints = True
    unescaped = fact_values(_unescaped_in, file.chunks.chunks)
    for value, index in ((value, index) for index, values in enumerate(unescaped) for value in values):
        is_broken_up = value.adds_breaks and value.is_in_block
        if value.name not in known or not (shows_hints or is_broken_up or value.name in multiline):
            continue
        located = file.chunks.at_index(index)
        expression = value.expression.shifted(located.start)
        if value.span.shifted(located.start) in reported or (is_broken_up and expression in reported):
            continue
        found = inputs.type_of(value, located.start)
        if found is None:
            continue
        schema, kind = found
        is_text = kind == "text" or schema.get("type") == "string"
        span = value.span
        severity: Severity | None = "warning"
        if is_broken_up:
            reported.add(expression)
            span, message = value.expression, "line breaks in the value of this expression end this block"
        elif _is_one_line(schema) or kind in _ONE_LINE_SHAPES or value.text in one_line:
            continue
        elif value.name in multiline and not value.keys:
            is_text = True
            message = f"{multiline[value.name]} `{value.text}` with a line break: {_effect(value)}"
        elif shows_hints and (
            shows_all(file, unescaped_multiline_input.name) or not _names_one_line(value.text)
        ):
            shows_hints = shows_all(file, unescaped_multiline_input.name)
            severity, message = None, _message(value)
        else:
            continue
        fixes = tuple(_fixes(located.chunk, value, is_text=is_text))
        yield Finding(span, message, fixes, severity=severity).shifted(located.start)


def _reported_in_calls(file: File) -> set[Span]:
    """Return the places where `missing-template-data` reports what Python calls do wrong."""
    calls = calls_to(file.snapshot, file.path)
    return (
        {each.span for each in call_problems(file.snapshot, file.path, file.template, calls)}
        if calls
        else set()
    )


@chunk_fact
def _unescaped_in(chunk: Chunk) -> tuple[PrintedInput, ...]:
    """Return the values that are printed unescaped in blocks and quotes, in order."""
    found = [value for value in printed_inputs(chunk) if value.is_in_block or value.style in _QUOTES]
    return tuple(sorted(found, key=lambda value: value.span))


def _message(value: PrintedInput) -> str:
    if value.is_in_block:
        return f"a line break in `{value.text}` would end this block"
    return f"a line break in `{value.text}` would become a space in these {_QUOTES[value.style]} quotes"


def _effect(value: PrintedInput) -> str:
    return "it ends this block" if value.is_in_block else "here it becomes a space"


def _multiline_inputs(file: File) -> dict[str, str]:
    """Return the inputs whose values are known to contain a line break, each with the source of the value."""
    found: dict[str, str] = {}
    for call in calls_to(file.snapshot, file.path):
        for name, shape in call.given:
            if isinstance(shape, KnownValue) and _has_line_break(shape.value):
                found[name] = f"`{PurePath(call.file).name}` gives"
    for sample in samples_of(file):
        found |= {
            str(name): f"the sample `{sample.name}` gives"
            for name, value in sample.data.items()
            if _has_line_break(value)
        }
    for example in file.template.declarations.examples:
        found |= {name: "an example gives" for name, value in example.data.items() if _has_line_break(value)}
    return found


def _single_line_inputs(file: File) -> frozenset[str]:
    """Return the inputs whose values never contain a line break in any call: numbers, lists, mappings."""
    calls = calls_to(file.snapshot, file.path)
    return frozenset(
        name
        for name in {name for call in calls for name, _ in call.given}
        if all(dict(call.given).get(name, UNKNOWN).kind in _ONE_LINE_VALUES for call in calls)
    )


def _names_one_line(text: str) -> bool:
    """Return whether an expression is a setting, or ends with the name of a value that has one line."""
    words = _WORD.findall(text)
    return bool(words) and (words[-1].lower() in _ONE_LINE_NAMES or _SETTINGS.match(text) is not None)


def _has_line_break(value: object) -> bool:
    return isinstance(value, str) and "\n" in value.strip()


def _is_one_line(schema: dict[str, Any]) -> bool:
    """Return whether a schema excludes line breaks; a pattern is assumed to."""
    if "const" in schema:
        return "\n" not in str(schema["const"])
    if isinstance(schema.get("enum"), list):
        return not any("\n" in str(value) for value in schema["enum"])
    if "pattern" in schema or str(schema.get("format")) in _ONE_LINE_FORMATS:
        return True
    types = schema.get("type")
    return all(str(each) in _ONE_LINE_TYPES for each in (types if isinstance(types, list) else [types]))


def _fixes(chunk: Chunk, value: PrintedInput, *, is_text: bool) -> Iterator[Fix]:
    """Yield the fix that escapes and indents the value, converting it to a text first if needed.

    An expression with a syntax error is not changed.
    """
    tag = next(iter(chunk.tags_at(value.span)), None)
    if tag is not None and has_tag_problem(chunk, tag.span):
        return
    written = chunk.slice(value.expression)
    if not is_text and value.expression == value.span:
        written = f"{written} | string"
    elif not is_text:
        written = f"({written}) | string"
    yield Fix("Escape it", (Edit(value.expression, f"escape_special_characters({written})"),))
    if value.style == "|" and value.indent is not None and value.expression == value.span:
        yield Fix("Indent its lines", (Edit(value.expression, f"{written} | indent({value.indent})"),))
