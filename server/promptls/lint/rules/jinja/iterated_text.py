"""Loop or list filter over a text.

## What it does

Reports loops, and filters of lists such as `sort`, behind a filter that returns a text, such as `join`.

## Why is this bad?

A text is a sequence of characters: the loop runs once for each letter, and `sort` sorts letters.

## Example

```yaml
- name: names
  content: |
    {{ names | join(", ") | sort }}
                            ^^^^ iterated-text: `join` returns a text: `sort` works on its characters
```

Use instead:

```yaml
- name: names
  content: |
    {{ names | sort | join(", ") }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Finding, Rule, each_chunk
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import expressions_in, loops_in

_OF_LISTS: Final = frozenset(
    {
        "batch", "groupby", "map", "max", "min", "reject", "rejectattr", "select", "selectattr",
        "slice", "sort", "sum",
    }
)  # fmt: skip
"""The filters of lists, which take a text for a list of characters."""


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the filters of lists and the loops whose value is the text of a filter."""
    for start, node in expressions_in(chunk):
        match node:
            case Filter(name=name, target=Filter(name=inner)) if name in _OF_LISTS and inner in TEXT_FILTERS:
                message = f"`{inner}` returns a text: `{name}` works on its characters"
                yield Finding(node.name_span.shifted(start), message)
    for start, loop in loops_in(chunk):
        source = loop.expressions[0]
        if isinstance(source, Filter) and source.name in TEXT_FILTERS:
            message = f"`{source.name}` returns a text: the loop is over its characters"
            yield Finding(source.name_span.shifted(start), message)


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
