"""Example of JSON in a text that is not valid.

Reports an object in the contents of a prompt with a comma too many or too few, an object on a single line
with an odd number of quotes, a text in single or typographic quotes and `True` where the text speaks of
JSON, as hints, one between backquotes, in a code fence or at the end of a line that lacks its closing brace, and keys that are typos of a property
in the `output_schema` of the header. An object that has all properties but one, and another key, has renamed it. Reports typos of values of an `enum` of the schema, also in
instructions of prompt objects and in sections: in JSON, and in a row or list that has all its other values but one. A tag that prints a
value of a declared `enum` of texts without quotes in an object is reported. Quotes around a
tag with `tojson` are a hint, and so are typos of properties and inputs that a text names in quotes. Objects in code of other languages are not reported, nor are those with a tag
of a branch or loop inside.

## Why is this bad?

The model answers in the format that it is shown, and a program that parses its answer fails.

## Example

```yaml
- name: task
  content: |
    Answer in JSON: {"answer": "yes",}
                                    ^ invalid-json-example: JSON allows no comma after the last entry
```

Use instead:

```yaml
- name: task
  content: |
    Answer in JSON: {"answer": "yes"}
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from promptls.lint.analysis.declared_types import schema_at
from promptls.lint.rule import (
    DECLARING_KINDS,
    PARTS_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    each_chunk,
    each_chunk_given,
    rule,
)
from promptls.semantic.flow.shapes import resolved_uses
from promptls.semantic.kind import Kind
from promptls.semantic.parts import FENCE, chunk_contents, tags_in, texts_with_digits
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.errors import trailing_comma
from promptls.text.positions import Span
from promptls.text.suggest import nearest, only_typo

_QUOTED: Final = re.compile(r'\{[ ]*"\w+"?[ ]*:[^{}\n]*\}')
"""An object on one line, with no other in it."""
_FLAT: Final = re.compile(r'\{\s*"[^{}]*\}')
"""An object with no other in it."""
_OBJECT: Final = re.compile(r"""\{\s*["'\u201c]""")
_KEY: Final = re.compile(r'[{,]\s*"(\w{3,})"[ ]*:')
_IN_BACKQUOTES: Final = re.compile(r'(?<!`)`(\{[ ]*"\w+"[ ]*:[^`\n]*)`(?!`)')
_AT_END: Final = re.compile(r'(?<!`)\{[ ]*"\w+"[ ]*:[^`\n]*$', re.MULTILINE)
_CONTINUED: Final = re.compile(r'\s*[\],}"]')
"""The beginning of a line that continues an object."""
_ASSIGNED: Final = re.compile(r"(?:[=(]|\breturn)\s*\Z")
"""Code in front of an object of a programming language, which may allow what JSON does not."""
_MAX_OBJECT: Final = 4000
"""How many characters an object in JSON has at most to be read."""
_MAX_OBJECTS: Final = 50
_MAX_LINE: Final = 300
"""How many characters an object has at most whose quotes are counted."""


def _properties(file: File) -> frozenset[str]:
    """Return the names of all properties in the `output_schema`, and of the inputs."""
    found = frozenset(
        str(name)
        for schema in _schemas_in(file.template.declarations.data.get("output_schema"))
        if isinstance(properties := schema.get("properties"), dict)
        for name in properties
    )
    return found and found | file.template.names.input_names


_KEY_BEFORE: Final = re.compile(r'[{,]\s*"\w+"\s*:\s*\Z')
_END_AFTER: Final = re.compile(r"\s*[,}]")


@chunk_fact
def _bare(chunk: Chunk) -> tuple[Span, ...]:
    """Return the expressions of tags that are a value of an object in JSON, without quotes."""
    found: list[Span] = []
    for content in chunk_contents(chunk) if '": {{' in chunk.text else ():
        for tag in tags_in(chunk, content):
            before = chunk.text[max(content.value.span.start, tag.span.start - _MAX_KEY) : tag.span.start]
            if (
                tag.kind == "output"
                and _KEY_BEFORE.search(before)
                and _END_AFTER.match(chunk.text, tag.span.end)
            ):
                found += (each.span.shifted(tag.span.start) for each in tag_tree(tag).statement.expressions)
    return tuple(found)


_MAX_KEY: Final = 60


def _unquoted_choices(file: File) -> Iterator[Finding]:
    """Yield the values of an `enum` of texts that a tag prints in JSON without quotes."""
    schemas = file.template.declarations.schemas
    bare = {span.shifted(located.start) for located, span in items_in(file.chunks, _bare)} if schemas else ()
    for use in resolved_uses(file.template) if bare else ():
        schema = schema_at(schemas.get(str(use.path[0].key)), use.path) if use.span in bare else None
        options = schema.get("enum") if schema is not None else None
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            message = "a text in JSON has quotes, and this prints a value of an `enum` of texts without them"
            edit = Edit.insert(use.span.end, " | tojson")
            yield Finding(use.span, message, (Fix("Add `tojson`", (edit,)),))


def _objects_of_schema(file: File) -> frozenset[frozenset[str]]:
    """Return the names of the properties of each object in the `output_schema`."""
    schemas = _schemas_in(file.template.declarations.data.get("output_schema"))
    named = (each.get("properties") for each in schemas)
    return frozenset(frozenset(map(str, each)) for each in named if isinstance(each, dict) and len(each) > 1)


@each_chunk_given(_objects_of_schema)
def _renamed_properties(chunk: Chunk, objects: frozenset[frozenset[str]]) -> Iterator[Finding]:
    """Yield the only key of an object in JSON that is not in the schema, if it lacks only one of its properties.

    An object that has one property alone is only reported if the key is like the one that it lacks.
    """
    for _, text, start in texts_with_digits(chunk) if objects else ():
        for match in _FLAT.finditer(text):
            keys = {each[1]: Span(*each.span(1)) for each in _KEY.finditer(text, *match.span())}
            for names in objects:
                wrong, missing = keys.keys() - names, names - keys.keys()
                if len(wrong) != 1 or len(missing) != 1:
                    continue
                (key,), (meant,) = wrong, missing
                is_likely = len(keys) > _PAIR_OF_KEYS or (len(keys) > 1 and nearest(key, missing) is not None)
                if is_likely and only_typo(key, names) is None:  # another check reports typos
                    message = f"the `output_schema` has no property `{key}`"
                    yield Finding.suggest(keys[key].shifted(start), message, meant)


_PAIR_OF_KEYS: Final = 2


def _schemas_in(schema: Any, depth: int = 10) -> Iterator[dict[Any, Any]]:
    """Yield the mappings in a schema, with itself."""
    if isinstance(schema, dict):
        yield schema
    values = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for value in values if depth else ():
        yield from _schemas_in(value, depth - 1)


_CHOICE: Final = re.compile(
    r"""(?<![\w-])[\w-]+["']?(?:(?:,[ ](?:or[ ])?|[ ]or[ ]|[ ]?[|/][ ]?)["']?[\w-]+(?![\w-]|["'][ ]*:)["']?)+"""
)
"""Values in a row, such as `"low" | "high"` and `low, medium, or high`, without the key after it."""
_LIST: Final = re.compile(r"(?:^[ ]*[-*][ ]+[\w-]+:[^\n]*(?:\n|\Z)){3,}", re.MULTILINE)
"""A list of values with descriptions, such as `- low: can wait`."""
_ITEM: Final = re.compile(r"(?<=[-*][ ])[\w-]+(?=:)")
_VALUE: Final = re.compile(r"(?<![\w-])(?!or\b)[\w-]+")
_MIN_VALUES: Final = 3


_PAIR: Final = re.compile(r'"(\w+)"[ ]*:[ ]*"([\w-]+)"')


def _choices(file: File) -> frozenset[tuple[str, frozenset[str]]]:
    """Return the values of each `enum` of texts in the `output_schema`, with the property that has it.

    A section is read with those that all templates have that include it.
    """
    if file.kind is not Kind.SECTION or not file.path:
        return _choices_of(file.template.declarations.data.get("output_schema"))
    entries = (file.snapshot.template(path) for path in file.snapshot.entries(file.path))
    choices = [
        _choices_of(entry.declarations.data.get("output_schema")) for entry in entries if entry is not None
    ]
    return frozenset.intersection(*choices) if choices else frozenset()


def _choices_of(schema: Any) -> frozenset[tuple[str, frozenset[str]]]:
    schemas = [*_schemas_in(schema)]
    properties = [found for each in schemas if isinstance(found := each.get("properties"), dict)]
    names = {id(schema): str(name) for each in properties for name, schema in each.items()}
    return frozenset(
        (names.get(id(schema), ""), frozenset(options))
        for schema in schemas
        if isinstance(options := schema.get("enum"), list)
        and all(isinstance(option, str) for option in options)
    )


@each_chunk_given(_choices)
def _wrong_choices(chunk: Chunk, enums: frozenset[tuple[str, frozenset[str]]]) -> Iterator[Finding]:
    """Yield typos of values of an `enum` in JSON, and in rows that have all its other values but one."""
    entries = (root.entry("instruction") for root in chunk_yaml(chunk).roots if isinstance(root, Mapping))
    texts = [content.value.span for content in chunk_contents(chunk)]
    texts += [entry.value.span for entry in entries if entry is not None]
    for span in texts if enums else ():
        for pair in _PAIR.finditer(chunk.text, *span):
            own = [options for name, options in enums if name == pair[1]]
            meant = _meant(pair[2], own[0]) if len(own) == 1 and pair[2] not in own[0] else None
            if meant is not None:
                yield _unlisted(Span(*pair.span(2)), pair[2], meant)
        rows = [
            {value[0]: Span(*value.span()).shifted(row.start()) for value in pattern.finditer(row[0])}
            for whole, pattern in ((_CHOICE, _VALUE), (_LIST, _ITEM))
            for row in whole.finditer(chunk.text, *span)
        ]
        for found in rows:
            for _, options in enums:
                wrong, missing = found.keys() - options, options - found.keys()
                if len(options) >= _MIN_VALUES and len(wrong) == len(missing) == 1:
                    yield _unlisted(found[min(wrong)], min(wrong), min(missing))


def _meant(value: str, options: frozenset[str]) -> str | None:
    """Return the only option that a value is a typo or an abbreviation of."""
    longer = [each for each in options if each.startswith(value) and len(value) >= _MIN_VALUES]
    return only_typo(value, options) or (longer[0] if len(longer) == 1 else None)


def _unlisted(span: Span, value: str, meant: str) -> Finding:
    return Finding.suggest(span, f"an `enum` of the `output_schema` has no `{value}`", meant)


@rule(severity="warning", kinds=DECLARING_KINDS)
def invalid_json_example(file: File) -> Iterator[Finding]:
    """Yield the mistakes in objects of the contents, and quotes around texts in JSON."""
    if file.kind in PARTS_KINDS:
        yield from _in_contents(file)
        yield from _quoted_twice(file)
        yield from _unquoted_choices(file)
        if _properties(file):
            yield from _misspelled_names(file)
            yield from _renamed_properties(file)
    if _choices(file):
        yield from _wrong_choices(file)


@each_chunk
def _quoted_twice(chunk: Chunk) -> Iterator[Finding]:
    """Yield the `tojson` of tags between quotes, which a text in JSON has itself."""
    for content in chunk_contents(chunk) if "tojson" in chunk.text else ():
        for tag in tags_in(chunk, content) if content.value.style != '"' else ():
            around = chunk.text[tag.span.start - 1] + chunk.text[tag.span.end : tag.span.end + 1]
            nodes = tag_tree(tag).statement.expressions if tag.kind == "output" and around == '""' else ()
            for node in nodes:
                if isinstance(node, Filter) and node.name == "tojson":
                    places = (tag.span.start - 1, tag.span.end)
                    edits = tuple(Edit(Span(place, place + 1), "") for place in places)
                    message = "`tojson` writes the quotes of a text, so that the model gets two pairs of them"
                    fix = Fix("Remove the outer quotes", edits)
                    yield Finding(node.name_span.shifted(tag.span.start), message, (fix,), severity="hint")


@each_chunk_given(_properties)
def _in_contents(chunk: Chunk, properties: frozenset[str]) -> Iterator[Finding]:
    """Yield the mistakes in objects of the contents of a chunk."""
    for content, text, start in texts_with_digits(chunk) if _OBJECT.search(chunk.text) else ():
        tags = [tag for tag in chunk.tags_at(content.value.span) if tag.kind == "statement"]
        branching = [tag.span.start - start for tag in tags]
        for finding in _objects(text, [*FENCE.finditer(text)] if content.is_block else [], branching):
            yield finding.shifted(start)
        for match in _KEY.finditer(text) if properties else ():
            meant = None if match[1] in properties else only_typo(match[1], properties)
            if meant is not None:
                span = Span(*match.span(1)).shifted(start)
                yield Finding.suggest(span, f"the `output_schema` has no property `{match[1]}`", meant)


_QUOTED_NAME: Final = re.compile(
    r"""(?<![\w:=]["`'])(?<![:=][ ]["`'])(?<=["`'])\w{5,}(?=["`'](?!\w|\s*[:=]))"""
)
"""A word in quotes or backquotes that is no key or value of an object."""


@each_chunk_given(_properties)
def _misspelled_names(chunk: Chunk, properties: frozenset[str]) -> Iterator[Finding]:
    """Yield the typos of properties and inputs that a text names in quotes; another word may be meant."""
    for _, text, start in texts_with_digits(chunk):
        for match in _QUOTED_NAME.finditer(text):
            word = match[0]
            meant = None if word in properties else only_typo(word, properties)
            if meant is not None and word.casefold().rstrip("s") != meant.casefold().rstrip("s"):
                message = f"no property or input is named `{word}`"
                yield Finding.suggest(Span(*match.span()).shifted(start), message, meant, severity="hint")


def _objects(text: str, fences: list[re.Match[str]], branching: list[int]) -> Iterator[Finding]:
    """Yield the commas that are missing or too many in objects that are JSON otherwise.

    Objects with a tag at one of the places `branching` may be printed in several forms; others are code.
    """
    languages = [fence["language"].lower() for fence in fences[::2]]
    fenced = [
        Span(first.end(), second.start()) for first, second in zip(fences[::2], fences[1::2], strict=False)
    ]
    code = [span for span, name in zip(fenced, languages, strict=False) if name not in {"", "json"}]
    yield from _unquoted(text, code)
    yield from _unclosed(text, code, fenced)
    position, names_json = 0, "json" in text.casefold()
    for _ in range(_MAX_OBJECTS):
        found = _OBJECT.search(text, position)
        if found is None:
            return
        start = found.start()
        end = _object_end(text, start)
        position = end or found.end()
        if end is None or _is_in(code, start):
            continue
        if any(start < place < end for place in branching) or _ASSIGNED.search(
            text, max(start - 20, 0), start
        ):
            continue
        finding = _invalid(text[start:end])
        if finding is not None:
            yield finding.shifted(start)
        elif names_json:
            yield from (each.shifted(start) for each in _foreign(text[start:end]))


_FOREIGN: Final = {
    "[\u201c\u201d]": "JSON writes texts in straight quotes",
    "'": "JSON writes texts in double quotes",
    "True|False|None": "JSON writes `true`, `false` and `null`",
}
_JSON: Final = {"True": "true", "False": "false", "None": "null"}


def _foreign(text: str) -> Iterator[Finding]:
    """Yield what makes a text JSON if it is written as JSON does."""
    for pattern, message in _FOREIGN.items():
        matches = [*re.finditer(pattern, text)]
        if matches and _is_json(re.sub(pattern, lambda match: _JSON.get(match[0], '"'), text)):
            yield Finding(Span(*matches[0].span()), message, severity="hint")


def _unquoted(text: str, code: list[Span]) -> Iterator[Finding]:
    """Yield the objects on one line that lack a double quote, at the key or value with an end and no beginning."""
    for match in _QUOTED.finditer(text):
        is_plain = "\\" not in match[0] and match.end() - match.start() <= _MAX_LINE
        if is_plain and match[0].count('"') % 2 and not _is_in(code, match.start()):
            yield Finding(Span(*match.span()), "a double quote is missing in this object, or one is too many")


def _unclosed(text: str, code: list[Span], fenced: list[Span]) -> Iterator[Finding]:
    """Yield the objects between backquotes, at the ends of lines and in code fences that lack their end."""
    places = {match.span(1) for match in _IN_BACKQUOTES.finditer(text)}
    places |= {match.span() for match in _AT_END.finditer(text) if not _CONTINUED.match(text, match.end())}
    places |= {
        (text.find("{", *span), span.end) for span in fenced if _OBJECT.match(text[slice(*span)].lstrip())
    }
    for start, stop in sorted(places):
        end = start + len(text[start:stop].rstrip())
        if _is_in(code, start) or end - start > _MAX_OBJECT:
            continue
        missing = next((each for each in ("}", "}}") if _is_json(text[start:end] + each)), None)
        if missing is not None and text[end - 1] not in "[{":
            line = max(start, text.rfind("\n", start, end) + 1)
            fix = Fix(f"Add `{missing}`", (Edit.insert(end, missing),))
            message = "a closing brace is missing in this object"
            yield Finding(
                Span(line + len(text[line:end]) - len(text[line:end].lstrip()), end), message, (fix,)
            )


def _is_in(spans: list[Span], offset: int) -> bool:
    return any(span.covers(offset) for span in spans)


def _object_end(text: str, start: int) -> int | None:
    """Return where the braces of an object are closed, outside of its texts."""
    depth, is_text, at = 0, False, start
    while at < min(len(text), start + _MAX_OBJECT):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == '"':
            is_text = not is_text
        elif not is_text and character in "{[":
            depth += 1
        elif not is_text and character in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _invalid(text: str) -> Finding | None:
    """Return the comma that makes a text valid JSON if it is removed or added."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        comma = trailing_comma(error)
        if comma is not None and _is_json(text[:comma] + text[comma + 1 :]):
            fix = Fix("Remove the comma", (Edit(Span(comma, comma + 1), ""),))
            return Finding(Span(comma, comma + 1), "JSON allows no comma after the last entry", (fix,))
        end = len(text[: error.pos].rstrip())
        if error.msg.startswith("Expecting ',' delimiter") and _is_json(f"{text[:end]},{text[end:]}"):
            fix = Fix("Add a comma", (Edit.insert(end, ","),))
            return Finding(Span(end - 1, end), "a comma is missing after this entry", (fix,))
    except (ValueError, RecursionError):
        return None
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
