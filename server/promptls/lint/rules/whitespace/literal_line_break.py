r"""Backslash and `n` that become a line break.

## What it does

Reports the first literal `\n` or `\r` in a content of the file, with the number of further ones. If the
severity of the rule is raised, each content is reported. Inside double quotes YAML reads `\n` itself, and
only `\\n` counts.

## Why is this bad?

It may be intended, to end a part with a line break. But Prompt Poet turns *every* `\n` and `\r` of a content
into a line break, including those of values: `C:\new` and `\nabla` are split into two lines, and cannot be
escaped.

A `/n` at the end of a line is reported as well: it reaches the model as it is.

## Example

```yaml
- name: formula
  content: |
    The gradient is written \nabla f.
                            ^^ literal-line-break: Prompt Poet replaces `\n` by a line break
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
from typing import Final

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import Content, block_indent, chunk_contents
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.text.positions import Span

_BREAK: Final = re.compile(r"\\[nr]")
_SLASHED: Final = re.compile(r"(?<![\w/.<~:])/n(?=[ ]*(?:[\r\n\"']|\Z))")
_BREAK_IN_QUOTES: Final = re.compile(r"(?<!\\)(?:\\\\)*?(\\\\[nr])")


def check(file: File) -> Iterator[Finding]:
    """Yield the first literal line break escape of the file."""
    places = (
        RepeatedFinding("", found.shifted(located.start), count)
        for located in file.chunks.placed()
        for found, count in _in_chunk(located.chunk)
    )
    yield from first_of_each(file, RULE.name, places)
    yield from _slashed(file)


@each_chunk
def _slashed(chunk: Chunk) -> Iterator[Finding]:
    """Yield each `/n` at the end of a line of a content, with a slash instead of a backslash."""
    if "/n" not in chunk.text:
        return
    for content in chunk_contents(chunk):
        for match in _SLASHED.finditer(chunk.text, *content.value.span):
            span = Span(*match.span())
            if not chunk.tags_at(Span(span.start, span.start + 1)):
                yield Finding.suggest(span, "the model gets this as text", "\\n")


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[tuple[Finding, int], ...]:
    """Return the first such escape of each content, with the number of them in the content."""
    if "\\" not in chunk.text:
        return ()
    found = []
    for content in chunk_contents(chunk):
        breaks = tuple(_breaks(chunk, content))
        if breaks:
            written = chunk.text[breaks[0].end - 2 : breaks[0].end]
            message = f"Prompt Poet replaces `{written}` by a line break"
            found.append((Finding(breaks[0], message, tuple(_fix(chunk, content, breaks))), len(breaks)))
    return tuple(found)


def _breaks(chunk: Chunk, content: Content) -> Iterator[Span]:
    span = content.value.span
    quoted = content.value.style == '"'
    for match in (_BREAK_IN_QUOTES if quoted else _BREAK).finditer(chunk.text, span.start, span.end):
        place = Span(*match.span(1 if quoted else 0))
        if not any(tag.span.start <= place.start < tag.span.end for tag in chunk.tags):
            yield place


def _fix(chunk: Chunk, content: Content, places: tuple[Span, ...]) -> Iterator[Fix]:
    """Return the fix that inserts real line breaks, unless they would be stripped."""
    indent = block_indent(chunk, content) if content.value.style == "|" else None
    if indent is None:
        return
    edits = []
    start = content.value.span.start + 1
    for place in places:
        before = chunk.text[start : place.start].replace("\\n", "").strip()
        after = chunk.text[place.end : content.value.span.end].replace("\\n", "").strip()
        if not before or not after or chunk.text[place.start : place.end] != "\\n":
            return
        edits.append(Edit(place, "\n" + " " * indent))
    yield Fix("Break the lines here", tuple(edits))


RULE = Rule(check, severity="hint", kinds=PARTS_KINDS)
