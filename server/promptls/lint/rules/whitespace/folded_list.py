"""List in a folded content.

## What it does

Reports the `>` of a content in which at least two items of a list, such as `- a` or `1. a`, follow another
line directly.

## Why is this bad?

`>` joins adjacent lines with spaces: the model gets the whole list in one line.

## Example

```yaml
- name: labels
  role: system
  content: >
           ^ folded-list: `>` joins the lines of this list to one
    Labels:
    - Billing, for invoices and plans
    - Account, for logins and team members
```

Use instead:

```yaml
- name: labels
  role: system
  content: |
    Labels:
    - Billing, for invoices and plans
    - Account, for logins and team members
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import block_indent, chunk_contents
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_ITEM: Final = re.compile(r"(?:[-*•]|\d{1,2}[.)])[ ]+\S")
_MIN_ITEMS: Final = 2


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the signs of folded contents that join the items of a list."""
    for content in chunk_contents(chunk):
        if content.value.style != ">":
            continue
        indent = block_indent(chunk, content)
        lines = chunk.text[content.value.span.start : content.value.span.end].splitlines()[1:]
        joined = sum(
            bool(_is_text(before, indent) and _is_text(line, indent) and _ITEM.match(line, indent))
            for before, line in pairwise(lines)
            if indent is not None
        )
        start = chunk.text.find(">", content.key.end, content.value.span.start + 1)
        if joined >= _MIN_ITEMS and start >= 0:
            span = Span(start, start + 1)
            fix = Fix("Keep the lines with `|`", (Edit(span, "|"),), preferred=True)
            yield Finding(span, "`>` joins the lines of this list to one", (fix,))


def _is_text(line: str, indent: int) -> bool:
    """Return whether a line has text and the indentation of the block; deeper lines are not joined."""
    return bool(line.strip()) and len(line) - len(line.lstrip()) == indent


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
