"""Result of a method that changes a list in place.

## What it does

Reports loops over the result of `sort()` or `reverse()`, and filters behind it.

## Why is this bad?

These methods change the list and return nothing: the loop or the filter gets `None`, and rendering fails. The filters
of the same names return a new list.

## Example

```yaml
{% for turn in turns.reverse() %}
                     ^^^^^^^ in-place-method: `reverse` of a list returns nothing; did you mean the filter `reverse`?
- name: turn
  content: |
    {{ escape_special_characters(turn) }}
{% endfor %}
```

Use instead:

```yaml
{% for turn in turns | reverse %}
- name: turn
  content: |
    {{ escape_special_characters(turn) }}
{% endfor %}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Call, Filter
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.text.positions import Span

_IN_PLACE: Final = frozenset({"reverse", "sort"})
"""The methods that change a list, whose names are also filters."""


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the calls of methods that return nothing, if a filter or a loop takes their result."""
    used = [(start, node.target) for start, node in expressions_in(chunk) if isinstance(node, Filter)]
    used += [(start, loop.expressions[0]) for start, loop in loops_in(chunk)]
    for start, node in used:
        match node:
            case Call(function=Attribute(name=name) as method, arguments=()) if name in _IN_PLACE:
                replaced = Span(method.target.span.end, node.span.end).shifted(start)
                fix = Fix(f"Change to `| {name}`", (Edit(replaced, f" | {name}"),))
                message = f"`{name}` of a list returns nothing; did you mean the filter `{name}`?"
                yield Finding(method.name_span.shifted(start), message, (fix,))


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
