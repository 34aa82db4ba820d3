"""Key of a part at the end of its content.

## What it does

Reports a `role` or `truncation_priority` in the last lines of a content that begins with `|` or `>`, if the
part does not have that key. A role must be a known one, and must not follow another line such as `name: Ada`.

## Why is this bad?

A line that is indented more than `content` belongs to its text. The model receives the line, and the part
has the default role or is never truncated.

## Example

```yaml
- name: question
  content: |
    {{ escape_special_characters(question) }}
    role: system
    ^^^^^^^^^^^^ swallowed-key: this line is text of the content; indent it like `content` to make it a key of the part
```

Use instead:

```yaml
- name: question
  content: |
    {{ escape_special_characters(question) }}
  role: system
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import ROLES
from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import Part, chunk_items, column_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar, key_text
from promptls.text.positions import Span

_KEY: Final = re.compile(rf"(?P<key>role(?=:[ ]+(?:{'|'.join(ROLES)})$)|truncation_priority(?=:[ ]+\d+$)):")
_FIELD: Final = re.compile(r"[\w-]+:")


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the first of the swallowed keys of each part."""
    for part in chunk_items(chunk).parts:
        content = part.entry("content")
        if content is None or not isinstance(content.value, Scalar) or content.value.style not in {"|", ">"}:
            continue
        lines = _last_lines(chunk, part, content.value.span)
        if lines:
            indent = " " * column_of(chunk, content.key.span.start)
            edits = [Edit(Span(_line_start(chunk, line), line.start), indent) for line in lines]
            message = (
                "this line is text of the content; indent it like `content` to make it a key of the part"
            )
            yield Finding(lines[-1], message, (Fix("Indent like `content`", tuple(edits)),))


def _last_lines(chunk: Chunk, part: Part, content: Span) -> list[Span]:
    """Return the lines at the end of a content that are keys which the part lacks, the last line first."""
    keys = {key_text(entry) for entry in part.entries}
    first, *lines = chunk.text[content.start : content.end].rstrip().splitlines(keepends=True)
    end = content.start + len(first) + sum(map(len, lines))
    found: list[Span] = []
    while len(lines) > 1:
        line = lines.pop()
        start = end - len(line.lstrip())
        match = _KEY.match(line.strip())
        if match is None or match["key"] in keys:
            break
        if match["key"] == "role" and _FIELD.match(lines[-1].lstrip()):
            break
        keys.add(match["key"])
        found.append(Span(start, start + len(line.strip())))
        end -= len(line)
    return found


def _line_start(chunk: Chunk, line: Span) -> int:
    return chunk.text.rfind("\n", 0, line.start) + 1


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
