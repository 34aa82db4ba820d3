r"""A backslash and an `n` that become a line break.

## What it does

Points at a written-out `\n` or `\r` in a content, once for each content. Inside double quotes YAML reads
`\n` itself, and only `\\n` counts.

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
from typing import Final

from promptls.meaning.contents import Content, block_indent, chunk_contents
from promptls.rules.rule import PARTS_KINDS, Edit, Finding, Fix, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.text.span import Span

_BREAK: Final = re.compile(r"\\[nr]")
_BREAK_IN_QUOTES: Final = re.compile(r"(?<!\\)(?:\\\\)*?(\\\\[nr])")


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The first written-out line break of each content in the chunk."""
    if "\\" not in chunk.text:
        return
    for content in chunk_contents(chunk):
        places = list(_breaks(chunk, content))
        if places:
            written = chunk.text[places[0].end - 2 : places[0].end]
            others = f", and {len(places) - 1} more here" if len(places) > 1 else ""
            message = f"Prompt Poet makes a line break of `{written}`{others}"
            yield Finding(places[0], message, tuple(_fix(chunk, content, places)))


def _breaks(chunk: Chunk, content: Content) -> Iterator[Span]:
    span = content.value.span
    quoted = content.value.style == '"'
    for match in (_BREAK_IN_QUOTES if quoted else _BREAK).finditer(chunk.text, span.start, span.end):
        place = Span(*match.span(1 if quoted else 0))
        if not any(tag.span.start <= place.start < tag.span.end for tag in chunk.tags):
            yield place


def _fix(chunk: Chunk, content: Content, places: list[Span]) -> Iterator[Fix]:
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
    summary="a backslash and an `n` that become a line break",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
