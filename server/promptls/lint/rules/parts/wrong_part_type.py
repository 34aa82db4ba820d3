"""Part value of the wrong type.

Reports a literal `truncation_priority` that is not a number, `sections` and
`expected_template_data_keys` that are not lists, and a `content`, also of a section, that YAML reads as
a number, a date or a boolean. Items of the list that are not mappings are reported too, and so are YAML
tags (`!name`) that Prompt Poet's loader does not support. If Jinja prints the value, the literals in the
tag are checked, in each branch of a condition; a condition without an `else` may print nothing, which is
reported too. An empty `name`, and a `content` whose first line is only a sign such as `:|`, where a `|` is expected, are warnings.
A priority below 0 has the effect of 0; the severity of that finding is information, and warning if a loop
negates its count.

## Why is this bad?

Prompt Poet checks no types when it loads a prompt: it fails later, in truncating, joining or counting,
with an error that does not name the part.

## Example

```yaml
- name: history
  truncation_priority: high
                       ^^^^ wrong-part-type: `truncation_priority` is a number; truncation fails on text
  content: Hello.
```

Use instead:

```yaml
- name: history
  truncation_priority: 5
  content: Hello.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.part_values import (
    LOADED_SCALARS,
    WORDS,
    bound_priorities,
    item_place,
    no_part_items,
    printed_contents,
    printed_values_of_keys,
    refused_tags,
)
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.semantic.parts import chunk_contents, chunk_items, written_span
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.text.positions import Span


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value = entry.value
            if isinstance(value, Scalar) and value.dynamic:
                if key_text(entry) == "truncation_priority":
                    yield from _negated(chunk, value)
                continue
            if not value.span.is_empty():
                yield from _of_key(chunk, entry)
            elif key_text(entry) == "truncation_priority" and part.is_whole:
                yield Finding(entry.key.span, "`truncation_priority` is a number; truncation fails on null")
            elif key_text(entry) == "name" and part.is_whole:
                yield Finding(entry.key.span, "this name is empty", severity="warning")
    for content in chunk_contents(chunk):
        value = content.value
        if value.tag in WORDS and not value.dynamic and not value.span.is_empty():
            span = written_span(chunk, value)
            quoted = Fix("Quote it", (Edit(span, f'"{chunk.slice(span)}"'),), preferred=True)
            message = f"YAML reads this content as {WORDS[value.tag]}; quote it to send it as text"
            yield Finding(span, message, (quoted,))
        mark = _MARK_AS_TEXT.match(chunk.text, value.span.start, value.span.end)
        if mark is not None and not value.style and value.tag == "str":
            span = Span(*mark.span("mark"))
            fix = Fix("Change to `|`", (Edit(span, "|"),))
            message = (
                f"`{mark['mark']}` is text here, and the lines below are joined to it; did you mean `|`?"
            )
            yield Finding(span, message, (fix,), severity="warning")
    yield from printed_values_of_keys(chunk)
    yield from printed_contents(chunk)
    yield from no_part_items(chunk)
    yield from refused_tags(chunk)


@rule(severity="error", kinds=PARTS_KINDS)
def wrong_part_type(file: File) -> Iterator[Finding]:
    """Yield the values of the wrong type in parts, including those of variables."""
    yield from _in_chunk(file)
    yield from bound_priorities(file)


def _of_key(chunk: Chunk, entry: Entry) -> Iterator[Finding]:
    value = entry.value
    match key_text(entry):
        case "truncation_priority" if isinstance(value, Scalar) and value.tag not in LOADED_SCALARS:
            pass  # `refused_tags` reports the tag
        case "truncation_priority" if not _is_number(value):
            what = "text" if isinstance(value, Scalar) and value.tag == "str" else "anything else"
            message = f"`truncation_priority` is a number; truncation fails on {what}"
            place = written_span(chunk, value) if isinstance(value, Scalar) else value.span
            yield Finding(place, message, tuple(_unquoted(value, place)))
        case "truncation_priority" if isinstance(value, Scalar) and _NEGATIVE.fullmatch(value.text):
            message = "truncation never removes a part with a priority below 0, as with 0"
            yield Finding(written_span(chunk, value), message, severity="information")
        case "content" if isinstance(value, Mapping) and value.entries and not _is_message_content(value):
            yield Finding(value.span, _MAPPING, tuple(_as_block(chunk, entry)), severity="warning")
        case "content" if isinstance(value, Sequence) and value.items and all(map(_is_text, value.items)):
            message = "this content is a list of texts: a message is one text, or a list of mappings"
            yield Finding(value.span, message, tuple(_as_block(chunk, entry)), severity="warning")
        case "sections" if isinstance(value, Mapping) and not value.entries:
            pass  # `empty-content` reports empty sections
        case "sections" if not isinstance(value, Sequence):
            yield Finding(value.span, "`sections` is a list of mappings with `name` and `content`")
        case "sections" if isinstance(value, Sequence):
            for item in value.items:
                if not isinstance(item, Mapping) and not (isinstance(item, Scalar) and item.dynamic):
                    yield Finding(item_place(chunk, item), "a section is a mapping with `name` and `content`")
        case "expected_template_data_keys" if isinstance(value, Scalar) and value.tag == "str":
            fixes = tuple(_listed(value))
            message = "`expected_template_data_keys` is a list; of text, every letter is taken for a name"
            yield Finding(value.span, message, fixes)
        case _:
            pass


def _negated(chunk: Chunk, value: Scalar) -> Iterator[Finding]:
    """Yield a priority that counts the turns of a loop downwards from 0."""
    span = written_span(chunk, value)
    match = _NEGATED.fullmatch(chunk.slice(span))
    if match is not None:
        meant = f"{{{{ loop.rev{match['count']} }}}}"
        message = "truncation never removes a part with a priority below 0; the highest one is cut first"
        yield Finding(span, message, (Fix.change_to(span, meant),), severity="warning")


def _as_block(chunk: Chunk, entry: Entry) -> Iterator[Fix]:
    """Yield the fix that makes the lines below a key a block scalar."""
    start = entry.key.span.end
    between = chunk.text[start : entry.value.span.start]
    if "\n" in between and between.strip() == ":":
        place = start + between.index(":") + 1
        yield Fix("Make it a block", (Edit.insert(place, " |"),))


def _is_text(item: Node) -> bool:
    return isinstance(item, Scalar) and not item.dynamic and item.tag == "str"


def _is_message_content(value: Mapping) -> bool:
    """Return whether a mapping may be meant as the content of a message: its keys are single words."""
    keys = [key_text(entry) for entry in value.entries]
    return all(key is not None and _WORD.fullmatch(key) and key.islower() for key in keys)


def _listed(value: Node) -> Iterator[Fix]:
    """Yield the fix that turns comma-separated names into a list."""
    if isinstance(value, Scalar) and _NAMES.fullmatch(value.text):
        yield Fix("Make it a list", (Edit(value.span, f"[{value.text}]"),), preferred=True)


def _unquoted(value: Node, place: Span) -> Iterator[Fix]:
    """Yield the fix that removes the quotes around a number."""
    if isinstance(value, Scalar) and value.style in {"'", '"'} and _NUMBER.fullmatch(value.text):
        yield Fix("Remove the quotes", (Edit(place, value.text),), preferred=True)


_MARK_AS_TEXT: Final = re.compile(r"(?P<mark>[:\\/]+[|>]?[-+]?|[:\\/]*[\u00a6\u2502\uff5c])[ ]*\r?\n")
"""Signs alone on the first line of a text, where the mark of a block is expected."""
_MAPPING: Final = "the `:` makes this content a mapping, which is not sent as text"
_WORD: Final = re.compile(r"\w+")
_NAMES: Final = re.compile(r"[A-Za-z_]\w*(?:, *[A-Za-z_]\w*)*")
_NEGATIVE: Final = re.compile(r"-[\d.]+")
_NEGATED: Final = re.compile(r"(?:-\{\{-?|\{\{-?[ ]*-)[ ]*loop\.(?P<count>index0?)[ ]*-?\}\}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def _is_number(value: Node) -> bool:
    return isinstance(value, Scalar) and value.tag in {"int", "float", "bool"}
