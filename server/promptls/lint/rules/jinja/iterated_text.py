"""Loop or list filter over a text or a number.

## What it does

Reports loops, and filters of lists such as `sort`, behind a filter that returns a text, such as `join`. As
an error, reports loops and filters of lists or texts, such as `length`, of a number.

## Why is this bad?

A text is a sequence of characters: the loop runs once for each letter, and `sort` sorts letters.
A number has neither elements nor a length: rendering fails with a `TypeError`.

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

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, each_chunk, rule
from promptls.lint.rules.jinja.input_uses import type_of
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Filter
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.text.positions import Span

_OF_LISTS: Final = frozenset(
    {
        "batch", "groupby", "map", "max", "min", "reject", "rejectattr", "select", "selectattr",
        "slice", "sort", "sum",
    }
)  # fmt: skip
"""The filters of lists, which take a text for a list of characters."""


_OF_SEQUENCES: Final = _OF_LISTS | {
    "count",
    "first",
    "join",
    "last",
    "length",
    "list",
    "random",
    "reverse",
    "unique",
}
"""The filters that fail on a number."""


@rule(severity="warning", kinds=JINJA_KINDS)
@each_chunk
def iterated_text(chunk: Chunk) -> Iterator[Finding]:
    """Yield the filters of lists and the loops whose value is the text of a filter, or a number."""
    for start, node in expressions_in(chunk):
        match node:
            case Filter(name=name, target=Filter(name=inner)) if name in _OF_LISTS and inner in TEXT_FILTERS:
                message = f"`{inner}` returns a text: `{name}` works on its characters"
                yield Finding(node.name_span.shifted(start), message)
            case Filter(name=name, target=target) if name in _OF_SEQUENCES and target is not None:
                if type_of(target) == "number":
                    message = f"`{name}` takes a list or a text, and this is a number"
                    yield Finding(target.span.shifted(start), message, severity="error")
    for start, loop in loops_in(chunk):
        source = loop.expressions[0]
        if isinstance(source, Filter) and source.name in TEXT_FILTERS:
            message = f"`{source.name}` returns a text: the loop is over its characters"
            yield Finding(source.name_span.shifted(start), message)
        elif type_of(source) == "number":
            yield _counting(source.span.shifted(start))


def _counting(span: Span) -> Finding:
    """Return the finding for a loop over a number."""
    edits = (Edit(Span(span.start, span.start), "range("), Edit(Span(span.end, span.end), ")"))
    fix = Fix("Count with `range`", edits, preferred=True)
    message = "a loop needs a list, and this is a number; did you mean `range(…)`?"
    return Finding(span, message, (fix,), severity="error")
