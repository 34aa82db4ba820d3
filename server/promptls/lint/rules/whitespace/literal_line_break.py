r"""A backslash and an `n` that become a line break.

## What it does

Points at a written-out `\n` or `\r` in a content: the first of the file, and counts the others. Where its
severity is set higher, it points at each content. Inside double quotes YAML reads `\n` itself, and only
`\\n` counts.

## Why is this bad?

It need not be: it is a way to end a part with a line break. But Prompt Poet turns *every* `\n` and `\r`
of a content into a line break, whoever wrote it: `C:\new` and `\nabla` arrive broken in two, and nothing
can keep them whole.

## Example

```yaml
- name: formula
  content: |
    The gradient is written \nabla f.
                            ^^ literal-line-break: Prompt Poet makes a line break of `\n`
```

Use instead:

```yaml
- name: formula
  content: |
    The gradient is written ∇ f.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from promptls.lint.analysis.first_places import FirstPlaces
from promptls.lint.rule import PARTS_KINDS, Edit, FileContext, Finding, Fix, Rule
from promptls.semantic.contents import Content, block_indent, chunk_contents
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_BREAK: Final = re.compile(r"\\[nr]")
_BREAK_IN_QUOTES: Final = re.compile(r"(?<!\\)(?:\\\\)*?(\\\\[nr])")


class _Place(NamedTuple):
    """A content and the written-out line breaks in it."""

    content: Content
    breaks: tuple[Span, ...]


def _in_chunk(chunk: Chunk) -> Iterator[tuple[str, _Place, int]]:
    if "\\" in chunk.text:
        for content in chunk_contents(chunk):
            breaks = tuple(_breaks(chunk, content))
            if breaks:
                yield "", _Place(content, breaks), len(breaks)


_PLACES: Final = FirstPlaces("literal-line-break", _in_chunk)


def check(context: FileContext) -> Iterator[Finding]:
    """Yield the first written-out line break of the file."""
    for noticed in _PLACES.noticed(context):
        content, breaks = noticed.item
        chunk = noticed.chunk
        written = chunk.text[breaks[0].end - 2 : breaks[0].end]
        others = replace(noticed, others=noticed.others + len(breaks) - 1).and_others("like it", "like it")
        message = f"Prompt Poet makes a line break of `{written}`{others}"
        yield Finding(breaks[0], message, tuple(_fix(chunk, content, breaks))).shifted(noticed.start)


def _breaks(chunk: Chunk, content: Content) -> Iterator[Span]:
    span = content.value.span
    quoted = content.value.style == '"'
    for match in (_BREAK_IN_QUOTES if quoted else _BREAK).finditer(chunk.text, span.start, span.end):
        place = Span(*match.span(1 if quoted else 0))
        if not any(tag.span.start <= place.start < tag.span.end for tag in chunk.tags):
            yield place


def _fix(chunk: Chunk, content: Content, places: tuple[Span, ...]) -> Iterator[Fix]:
    """Real line breaks in place of the written ones, where stripping does not take them away again."""
    indent = block_indent(chunk, content) if content.value.style == "|" else None
    if indent is None:
        return
    edits = []
    start = content.value.span.start + 1
    for place in places:
        before = chunk.text[start : place.start].replace("\\n", "").strip()
        behind = chunk.text[place.end : content.value.span.end].replace("\\n", "").strip()
        if not before or not behind or chunk.text[place.start : place.end] != "\\n":
            return
        edits.append(Edit(place, "\n" + " " * indent))
    yield Fix("Break the lines here", tuple(edits))


RULE = Rule(
    name="literal-line-break",
    summary="backslash and `n` that become a line break",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check=check,
)
