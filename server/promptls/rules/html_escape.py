"""A filter that escapes text for HTML.

## What it does

Points at the filters `escape`, `e` and `forceescape`.

## Why is this bad?

They escape for web pages: the model reads `&#34;` and `&#39;` for quotes, `&amp;` for `&` and `&lt;` for
`<`, and a line break, which could break the YAML, stays. What Prompt Poet offers for that is
`escape_special_characters`.

## Example

```yaml
- name: ticket
  content: |
    {{ text | escape }}
              ^^^^^^ html-escape: `escape` writes HTML: quotes reach the model as `&#34;`
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import PARTS_KINDS, Edit, Finding, Fix, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.span import Span

_ESCAPING: Final = frozenset({"e", "escape", "forceescape"})


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The filters in the chunk's tags that escape for HTML."""
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in _ESCAPING:
            message = f"`{node.name}` writes HTML: quotes reach the model as `&#34;`"
            yield Finding(node.name_span.shifted(start), message, tuple(_fixes(chunk, node, start)))


def _fixes(chunk: Chunk, node: Filter, start: int) -> Iterator[Fix]:
    if node.target is None:
        return
    target, whole = node.target.span.shifted(start), node.span.shifted(start)
    text = chunk.text[target.start : target.end]
    if text and whole.start <= target.start:
        yield Fix(
            "Escape for YAML instead",
            (Edit(Span(target.start, whole.end), f"escape_special_characters({text})"),),
        )
        yield Fix(f"Remove `{node.name}`", (Edit(Span(target.end, whole.end), ""),))


RULE = Rule(
    name="html-escape",
    summary="a filter that escapes text for HTML",
    severity="hint",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
