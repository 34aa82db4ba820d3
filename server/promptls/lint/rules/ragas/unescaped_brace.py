"""Brace in a prompt object that is read as an input.

## What it does

Reports braces in the `instruction` of a prompt object that do not contain one of its `input_keys`, and,
if `output_type` is `str`, braces in its examples, also those of mappings: Ragas only escapes them if the
output is JSON. In a file without Jinja, reports `{{question}}` in the `instruction` if that is one of its `input_keys`.

## Why is this bad?

Ragas fills in the inputs with Python's `str.format`, which raises a `KeyError` or a `ValueError` at any
other brace, or inserts an input's value where a text was meant. A literal brace must be doubled; in a
Jinja file, in a `raw` block.

## Example

```yaml
instruction: 'Answer as {"label": "…"}.'
                        ^^^^^^^^^^^^^^ unescaped-brace: these braces are read as an input, so formatting the prompt fails
input_keys: [question]
output_key: answer
```

Use instead:

```yaml
instruction: 'Answer as {% raw %}{{"label": "…"}}{% endraw %}.'
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import OBJECT_KINDS, Edit, File, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import nearest

_BRACES: Final = re.compile(r"\{\{|\}\}|[{}]")
_DOUBLED: Final = re.compile(r"\{\{[ ]*(\w+)[ ]*\}\}")
_FIELD: Final = re.compile(r"\{(\w+)(?:![rsa])?(?::[^{}]*)?\}")


def check(file: File) -> Iterator[Finding]:
    """Yield the braces that Python would read as fields."""
    root = file.template.root
    declared = file.template.declarations.inputs
    if root is None or declared is None:
        return
    inputs = [key.name for key in declared]
    scalars: list[Scalar] = []
    instruction = root.value("instruction")
    if isinstance(instruction, Scalar):
        scalars.append(instruction)
    kind = root.value("output_type")
    if kind is not None and scalar_text(kind) == "str":
        scalars += _scalars(root.value("examples"))
        yield from _mappings(file, kind)
    for scalar in scalars:
        located = file.template.source.located(scalar.span.start)
        for finding in _in_text(located.chunk, scalar.moved(-located.start), inputs):
            yield finding.shifted(located.start)


def _mappings(file: File, kind: Node) -> Iterator[Finding]:
    """Yield an output type for which the braces of mappings in examples are not escaped."""
    declared = file.template.declarations
    values = [value for example in declared.examples for value in example.data.values()]
    if not any(map(_has_mapping, values)):
        return
    message = "the braces of mappings in examples are read as inputs, so formatting the prompt fails"
    output = str(declared.data.get("output_key"))
    if all(isinstance(example.data.get(output), dict | list) for example in declared.examples):
        yield Finding.suggest(kind.span, message, "json")
    else:
        yield Finding(kind.span, message)


def _has_mapping(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_mapping, value)))


def _in_text(chunk: Chunk, scalar: Scalar, inputs: list[str]) -> Iterator[Finding]:
    text = _mask(chunk, scalar.span)
    position = 0
    while match := _BRACES.search(text, position):
        position = match.end()
        if match[0] in {"{{", "}}"}:
            doubled = _DOUBLED.match(text, match.start())
            if doubled is not None and doubled[1] in inputs and not scalar.dynamic:
                span = Span(*doubled.span()).shifted(scalar.span.start)
                message = "this is text, and no input: braces are written once around an input"
                yield Finding(span, message)
            continue
        field = _FIELD.match(text, match.start())
        if field is not None and field[1] in inputs:
            position = field.end()
            continue
        end = _closing(text, match.start()) if match[0] == "{" else match.end()
        if scalar.dynamic and (field is None or _touches_tag(chunk, field.span(), scalar.span.start)):
            continue  # the output of an adjacent tag may belong to it
        span = Span(match.start(), end).shifted(scalar.span.start)
        position = end
        if field is not None and nearest(field[1], inputs):
            found = misspelled(span, f"`{field[1]}` is not an input", field[1], inputs)
            fixes = tuple(Fix(fix.title, _renamed(fix.edits), fix.preferred) for fix in found.fixes)
            yield Finding(span, found.message, fixes)
        else:
            message = "these braces are read as an input, so formatting the prompt fails"
            yield Finding(span, message, _fixes(chunk, span))


def _touches_tag(chunk: Chunk, field: tuple[int, int], by: int) -> bool:
    """Return whether a tag is adjacent to a field."""
    start, end = field[0] + by, field[1] + by
    return any(
        tag.span.end == start or tag.span.start == end or tag.span.start <= start < tag.span.end
        for tag in chunk.tags
        if tag.kind != "raw"
    )


def _renamed(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    return tuple(Edit(edit.span, f"{{{edit.text}}}") for edit in edits)


def _fixes(chunk: Chunk, span: Span) -> tuple[Fix, ...]:
    """Return the fix that doubles the braces; none in a raw block or for a single unmatched brace."""
    text = chunk.text[span.start : span.end]
    if any(tag.span.start < span.end and span.start < tag.span.end for tag in chunk.tags) or text[-1] != "}":
        return ()
    doubled = text.replace("{", "{{").replace("}", "}}")
    return (Fix("Write the braces twice", (Edit(span, f"{{% raw %}}{doubled}{{% endraw %}}"),)),)


def _closing(text: str, start: int) -> int:
    """Return the end of the braces that open at `start`, or of the one brace if they are never closed."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return start + 1


def _mask(chunk: Chunk, span: Span) -> str:
    """Return the text of a span with tags replaced by spaces, except for the content of raw blocks."""
    text = list(chunk.text[span.start : span.end])
    for tag in chunk.tags:
        masked = [tag.span]
        if tag.kind == "raw":
            masked = [Span(tag.span.start, tag.body.start), Span(tag.body.end, tag.span.end)]
        for each in masked:
            for index in range(max(each.start, span.start), min(each.end, span.end)):
                text[index - span.start] = " "
    return "".join(text)


def _scalars(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _scalars(entry.value)


RULE = Rule(check, severity="warning", kinds=OBJECT_KINDS)
